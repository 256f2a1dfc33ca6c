"""The events of commands that run agents."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import EventOutput, View
from git_blackbird.cli.schema.common import ParentReviewView, StepView, TreesView, step_fields
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.agent_io import ProgressKind, Question, Usage
from git_blackbird.model.entities.change import Summary, Totals
from git_blackbird.model.entities.decision import Choice, ChoiceSpec
from git_blackbird.model.entities.findings import MergedReview, ReviewResult
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState, RunStatus, RunType, TerminalReason
from git_blackbird.model.rules.review_rounds import result_of
from git_blackbird.model.views import checkpoint as views
from git_blackbird.model.views import events as view_events

_TASK, _RUN, _TITLE = "The task.", "The run.", "The title of the task."


class RunStarted(EventOutput):
    """An agent was started."""

    event: ClassVar[str] = "run_started"

    task: TaskId = Field(description=_TASK)
    title: str = Field(description=_TITLE)
    run: RunId = Field(description=_RUN)
    type: RunType = Field(description="What it is for.")
    provider: str = Field(description="The agent.")
    resumes: RunId | None = Field(description="The run whose session it continues.")
    pid: int = Field(description="Its process.")


class RunProgress(EventOutput):
    """What an agent does. Dropped while the reader does not keep up."""

    event: ClassVar[str] = "progress"

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description=_RUN)
    kind: ProgressKind = Field(description="What it does; `spends` has no text.")
    text: str = Field(description="The same in words: one line, but several where the kind is `says`.")
    usage: Usage | None = Field(description="Tokens of the run so far; null where the step does not tell.")
    cost_usd: float | None = Field(description="What it cost so far; null where the step does not tell.")


class RunPrinted(EventOutput):
    """What an agent printed, with `--stream`. Dropped while the reader does not keep up."""

    event: ClassVar[str] = "output"

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description=_RUN)
    stream: str = Field(description="`stdout` or `stderr`.")
    text: str = Field(description="What was printed, as it is.")


class RunEnded(EventOutput):
    """A run is over."""

    event: ClassVar[str] = "run_ended"

    task: TaskId = Field(description=_TASK)
    title: str = Field(description=_TITLE)
    run: RunId = Field(description=_RUN)
    type: RunType = Field(description="What it was for.")
    status: RunStatus = Field(description="How it ended.")
    terminal_reason: TerminalReason | None = Field(description="Why, where the status does not say.")
    exit_code: int | None = Field(description="The exit code of the agent.")
    error: str | None = Field(description="What went wrong.")
    decision: DecisionState | None = Field(description="`pending` where a decision is due.")
    cost_usd: float | None = Field(description="What it cost, as the agent reports.")
    usage: Usage | None = Field(description="Its tokens.")
    changes: Totals | None = Field(description="What it changed, in numbers.")
    parent_review: ParentReviewView | None = Field(description="The verdict, where the type is `review`.")
    reviewed_run: RunId | None = Field(description="The run whose change it reviewed.")
    review_result: ReviewResult | None = Field(description="What it found as a reviewer of a change.")
    seconds: float = Field(description="How long it took.")

    @classmethod
    def of(cls, ended: view_events.RunEnded) -> Self:
        """Make it of the end of a run."""
        run, summary = ended.run, ended.run.review_summary
        return cls(
            task=run.task_id,
            title=ended.title,
            run=run.id,
            type=run.run_type,
            status=run.status,
            terminal_reason=run.terminal_reason,
            exit_code=run.exit_code,
            error=run.error,
            decision=run.decision_state,
            cost_usd=run.cost_usd,
            usage=run.usage,
            changes=None if summary is None or summary.minimal is not None else summary.totals,
            parent_review=ParentReviewView.of(run),
            reviewed_run=run.reviewed_run,
            review_result=result_of(run),
            seconds=round(ended.seconds, 3),
        )


class ReviewsEnded(EventOutput):
    """Both reviews of a change are over."""

    event: ClassVar[str] = "reviews_ended"

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description="The run whose change it is.")
    round: int | None = Field(description="The round of reviews.")
    max_rounds: int = Field(description="How many rounds there may be.")
    reasons: tuple[str, ...] = Field(description="Why a person is to decide, where one is.")
    decision_state: DecisionState | None = Field(
        description="`changes_requested`: sent back; `pending`: for a person; else it goes on."
    )
    review: MergedReview = Field(description="Both reviews as one.")

    @classmethod
    def of(cls, ended: view_events.ReviewsEnded) -> Self:
        """Make it of the end of both reviews."""
        return cls(
            task=ended.task_id,
            run=ended.run.id,
            round=ended.run.review_round,
            max_rounds=ended.max_rounds,
            reasons=ended.reasons,
            decision_state=ended.run.decision_state,
            review=ended.merged,
        )


class Decided(EventOutput):
    """A decision was recorded."""

    event: ClassVar[str] = "decided"

    task: TaskId = Field(description=_TASK)
    run: RunId = Field(description=_RUN)
    state: DecisionState = Field(description="What was decided.")
    elsewhere: bool = Field(description="Whether another command recorded it.")
    commit: str | None = Field(description="The id of what an approval committed.")


class Notice(EventOutput):
    """Something to know."""

    event: ClassVar[str] = "notice"

    level: view_events.Level = Field(description="How important it is.")
    text: str = Field(description="What it is, in one line.")
    hint: str | None = Field(description="What to do.")
    task: TaskId | None = Field(description="The task that it is about.")


class Dropped(EventOutput):
    """Events were left out because the reader did not keep up."""

    event: ClassVar[str] = "dropped"

    events: int = Field(description="How many of `progress` and `output` since the last line.")


class QuestionsAsked(EventOutput):
    """An agent asks something. Nobody is asked under `--json`: the call stops."""

    event: ClassVar[str] = "questions"

    task: TaskId = Field(description=_TASK)
    questions: tuple[Question, ...] = Field(description="What it asks.")

    @classmethod
    def of(cls, task: Task, questions: Sequence[Question]) -> Self:
        """Make it of what an agent asks."""
        return cls(task=task.id, questions=tuple(questions))


class CommitPreview(View):
    """What approving would commit."""

    paths: int = Field(description="How many paths.")
    branch: str | None = Field(description="The branch; null where HEAD is detached.")
    obstacles: tuple[str, ...] = Field(description="Why it would be refused as things stand.")


class SinceRequest(View):
    """What was last requested, and what changed since."""

    request: str = Field(description="The request.")
    summary: Summary = Field(description="What changed since.")
    trees: TreesView | None = Field(description="The worktree before and after.")


class OtherBranch(View):
    """The branch of the run, and the one that HEAD is on."""

    worked_on: str = Field(description="The branch of the run.")
    now: str | None = Field(description="The branch that HEAD is on; null where it is detached.")


class _ChoiceFields(View):
    choice: Choice = Field(description="Its name.")
    label: str = Field(description="Its label.")


class ChoiceView(StepView, _ChoiceFields):
    """One way to decide."""

    blocked_reason: str | None = Field(description="Why it cannot be chosen.")

    @classmethod
    def of_offer(cls, offer: ChoiceSpec, checkpoint: views.Checkpoint) -> Self:
        """Make it of a choice at a checkpoint."""
        return cls(
            choice=offer.choice,
            label=offer.label,
            blocked_reason=checkpoint.blocked_reason(offer.choice),
            **step_fields(checkpoint.command_for(offer)),
        )


class CheckpointReached(EventOutput):
    """A decision is due. Nobody is asked under `--json`: the call stops."""

    event: ClassVar[str] = "checkpoint"

    task: TaskId = Field(description=_TASK)
    title: str = Field(description=_TITLE)
    acceptance_criteria: tuple[str, ...] = Field(description="When the task is done.")
    run: RunId = Field(description=_RUN)
    status: RunStatus = Field(description="How the run ended.")
    error: str | None = Field(description="What went wrong.")
    result: str | None = Field(description="What the agent said at the end.")
    summary: Summary = Field(description="The change, bounded.")
    trees: TreesView | None = Field(description="The change as two trees; null where a snapshot is missing.")
    moved: tuple[str, ...] = Field(
        description="Paths of the change that look different in the worktree by now."
    )
    plan_changes: tuple[str, ...] = Field(description="What the run changed in the plan.")
    config_changes: tuple[str, ...] = Field(description="What it changed in the configuration.")
    notes: tuple[str, ...] = Field(description="What else is worth knowing.")
    runs: int = Field(description="How many runs made the change.")
    cost_usd: float | None = Field(description="What they cost together.")
    commit: CommitPreview | None = Field(description="What approving would commit; null where nothing.")
    review: MergedReview | None = Field(description="Both reviews of the change as one.")
    suggested_request: str | None = Field(
        description="A change request with what a hook that refused the commit printed, and what the "
        "reviewers found."
    )
    reasons: tuple[str, ...] = Field(
        description="Why a person is to decide: nothing was changed, or the reviews."
    )
    since_request: SinceRequest | None = Field(description="What you last requested, and what changed since.")
    other_branch: OtherBranch | None = Field(description="Set where HEAD has left the branch of the run.")
    choices: tuple[ChoiceView, ...] = Field(description="The ways to decide.")

    @classmethod
    def of(cls, checkpoint: views.Checkpoint) -> Self:
        """Make it of everything that a checkpoint shows, and the commands that decide it."""
        task, run = checkpoint.task, checkpoint.run
        return cls(
            task=task.id,
            title=task.title,
            acceptance_criteria=task.acceptance_criteria,
            run=run.id,
            status=run.status,
            error=run.error,
            result=run.result,
            summary=checkpoint.summary,
            trees=TreesView.of(checkpoint.pair),
            moved=checkpoint.moved,
            plan_changes=run.plan_changes,
            config_changes=run.config_changes,
            notes=run.notes,
            runs=checkpoint.runs,
            cost_usd=checkpoint.cost_usd,
            commit=_commit(checkpoint.commit),
            review=checkpoint.merged,
            suggested_request=checkpoint.suggested_request,
            reasons=checkpoint.reasons,
            since_request=_since_request(checkpoint.since_request),
            other_branch=_other_branch(checkpoint.other_branch),
            choices=tuple(ChoiceView.of_offer(offer, checkpoint) for offer in checkpoint.offers()),
        )


def _commit(one: views.CommitPreview | None) -> CommitPreview | None:
    if one is None:
        return None
    return CommitPreview(paths=one.paths, branch=one.branch, obstacles=one.obstacles)


def _since_request(one: views.SinceRequest | None) -> SinceRequest | None:
    if one is None:
        return None
    return SinceRequest(request=one.request, summary=one.summary, trees=TreesView.of(one.pair))


def _other_branch(one: views.OtherBranch | None) -> OtherBranch | None:
    return None if one is None else OtherBranch(worked_on=one.worked_on, now=one.now)


def event_of(event: view_events.Event) -> EventOutput:
    """Return an event as it is printed; raw output is text, U+FFFD where it was not UTF-8."""
    match event:
        case view_events.RunEnded() | view_events.ReviewsEnded():
            return _end_of(event)
        case view_events.RunStarted():
            return RunStarted(
                task=event.task_id,
                title=event.title,
                run=event.run_id,
                type=event.run_type,
                provider=event.provider,
                resumes=event.resumes,
                pid=event.pid,
            )
        case view_events.RunProgress():
            step = event.progress
            return RunProgress(
                task=event.task_id,
                run=event.run_id,
                kind=step.kind,
                text=step.text,
                usage=step.usage,
                cost_usd=step.cost_usd,
            )
        case view_events.RunOutput():
            text = event.data.decode(errors="replace")
            return RunPrinted(task=event.task_id, run=event.run_id, stream=event.stream, text=text)
        case view_events.Decided():
            commit = None if event.commit is None else event.commit.oid
            return Decided(
                task=event.task_id,
                run=event.run_id,
                state=event.state,
                elsewhere=event.elsewhere,
                commit=commit,
            )
        case view_events.Notice():
            return Notice(level=event.weight, text=event.text, hint=event.hint, task=event.task_id)


def _end_of(event: view_events.RunEnded | view_events.ReviewsEnded) -> EventOutput:
    return RunEnded.of(event) if isinstance(event, view_events.RunEnded) else ReviewsEnded.of(event)
