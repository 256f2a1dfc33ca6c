"""The events of commands that run agents, and how a call ends."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from git_blackbird.cli.schema.base import (
    Commands,
    EventOutput,
    LimitView,
    ParentReviewView,
    StepView,
    TreesView,
    View,
    field,
    parent_review_of,
)
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.rules.reviews import result_of
from git_blackbird.model.run.agent_io import ProgressKind
from git_blackbird.model.run.findings import MergedReview, ReviewResult
from git_blackbird.model.run.parts import CheckResult, Question, ReviewComment, Ruling, Usage
from git_blackbird.model.run.states import (
    Choice,
    DecisionState,
    LandingState,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import Outside, Summary, Totals
from git_blackbird.model.views import events
from git_blackbird.model.views.checkpoint import Checkpoint
from git_blackbird.model.views.stop import StopReason

_TASK, _RUN, _TITLE = "The task.", "The run.", "The title of the task."


class RunStartedEvent(EventOutput, event="run_started"):
    """An agent was started."""

    task: TaskId = field(_TASK, "task_id")
    title: str = field(_TITLE)
    run: RunId = field(_RUN, "run_id")
    type: RunType = field("What it is for.", "run_type")
    provider: str = field("The agent.")
    resumes: RunId | None = field("The run whose session it continues.")
    pid: int | None = field("Its process; null where it works on a worker of a cluster.")
    is_taken_up: bool = field("Whether an earlier call started it on a worker, and this one takes it up.")


class RunPlacedEvent(EventOutput, event="run_placed"):
    """A worker of a cluster has taken a run."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field(_RUN, "run_id")
    worker: str = field("The name of the worker.")


class RunProgressEvent(EventOutput, event="progress"):
    """What an agent does. Dropped while the reader does not keep up."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field(_RUN, "run_id")
    kind: ProgressKind = field("What it does; `spends` has no text.", "progress.kind")
    text: str = field("The same in words: one line, but several where the kind is `says`.", "progress.text")
    usage: Usage | None = field(
        "Tokens of the run so far; null where the step does not tell.", "progress.usage"
    )
    cost_usd: float | None = field(
        "What it cost so far; null where the step does not tell.", "progress.cost_usd"
    )


def _printed(event: events.RunOutput) -> str:
    """Return raw output as text, U+FFFD where it was not UTF-8."""
    return event.data.decode(errors="replace")


class RunPrinted(EventOutput, event="output"):
    """What an agent printed, with `--stream`. Dropped while the reader does not keep up."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field(_RUN, "run_id")
    stream: str = field("`stdout` or `stderr`.")
    text: str = field("What was printed, as it is.", using=_printed)
    skipped_bytes: int = field("What was printed before it, too fast to be read.", "skipped")


def _totals(ended: events.RunEnded) -> Totals | None:
    summary = ended.run.review_summary
    return None if summary is None or summary.minimal is not None else summary.totals


def _seconds(ended: events.RunEnded) -> float:
    return round(ended.seconds, 3)


class RunEndedEvent(EventOutput, event="run_ended"):
    """A run is over."""

    task: TaskId = field(_TASK, "run.task_id")
    title: str = field(_TITLE)
    run: RunId = field(_RUN, "run.id")
    type: RunType = field("What it was for.", "run.run_type")
    status: RunStatus = field("How it ended.", "run.status")
    terminal_reason: TerminalReason | None = field(
        "Why, where the status does not say.", "run.terminal_reason"
    )
    exit_code: int | None = field("The exit code of the agent.", "run.exit_code")
    error: str | None = field("What went wrong.", "run.error")
    decision: DecisionState | None = field("`pending` where a decision is due.", "run.decision_state")
    cost_usd: float | None = field("What it cost, as the agent reports.", "run.cost_usd")
    usage: Usage | None = field("Its tokens.", "run.usage")
    changes: Totals | None = field("What it changed, in numbers.", using=_totals)
    parent_review: ParentReviewView | None = field(
        "The verdict, where the type is `review`.", "run", using=parent_review_of
    )
    reviewed_run: RunId | None = field("The run whose change it reviewed.", "run.reviewed_run")
    review_result: ReviewResult | None = field(
        "What it found as a reviewer of a change.", "run", using=result_of
    )
    seconds: float = field("How long it took.", using=_seconds)


class CheckEndedEvent(EventOutput, event="check_ended"):
    """The user's check of a change is over."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field("The run whose change it is.", "run.id")
    check: CheckResult = field("What it says.")
    reasons: tuple[str, ...] = field("Why a person is to decide, where one is.")
    decision_state: DecisionState | None = field(
        "`changes_requested`: sent back; `pending`: for a person; else it goes on.", "run.decision_state"
    )


class LandingEndedEvent(EventOutput, event="landing_ended"):
    """The change of a task has landed, or could not."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field("The run whose change it is.", "run.id")
    landing: LandingState | None = field(
        "`landed`: it is in your worktree; `due`: sent back to its session; `blocked`: for a person.",
        "run.landing.state",
    )
    reasons: tuple[str, ...] = field(
        "Why it was sent back, or a person is to decide, or what is not as it was meant."
    )
    decision_state: DecisionState | None = field("The decision on it.", "run.decision_state")


class ReviewsEndedEvent(EventOutput, event="reviews_ended"):
    """Both reviews of a change are over."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field("The run whose change it is.", "run.id")
    round: int | None = field("The round of reviews.", "run.review_round")
    max_rounds: int = field("How many rounds there may be.")
    reasons: tuple[str, ...] = field("Why a person is to decide, where one is.")
    decision_state: DecisionState | None = field(
        "`changes_requested`: sent back; `pending`: for a person; else it goes on.", "run.decision_state"
    )
    review: MergedReview = field("Both reviews as one.", "merged")


class DecidedEvent(EventOutput, event="decided"):
    """A decision was recorded."""

    task: TaskId = field(_TASK, "task_id")
    run: RunId = field(_RUN, "run_id")
    state: DecisionState = field("What was decided.")
    elsewhere: bool = field("Whether another command recorded it.")
    commit: str | None = field("The id of what an approval committed.", "commit.oid")


class LimitsHeldEvent(EventOutput, event="limits_held"):
    """Nothing else can be done, and the call waits until the first of these limits is over."""

    limits: tuple[LimitView, ...] = field("The usage limits; none where it goes on.", "holds")


class NoticeEvent(EventOutput, event="notice"):
    """Something to know."""

    level: events.Level = field("How important it is.", "weight")
    text: str = field("What it is, in one line.")
    hint: str | None = field("What to do.")
    task: TaskId | None = field("The task that it is about.", "task_id")


class Dropped(EventOutput, event="dropped"):
    """Events were left out because the reader did not keep up."""

    events: int = field("How many of `progress` and `output` since the last line.")


class QuestionsAsked(EventOutput, event="questions"):
    """An agent asks something. Nobody is asked under `--json`: the call stops."""

    task: TaskId = field(_TASK)
    questions: tuple[Question, ...] = field("What it asks.")


class CommitPreviewView(View):
    """What approving would commit."""

    paths: int = field("How many paths.")
    branch: str | None = field("The branch; null where HEAD is detached.")
    obstacles: tuple[str, ...] = field("Why it would be refused as things stand.")
    with_status: bool = field("Whether one of the paths is the plan, with the status of the task.")


class CommentOutcomeView(View):
    """A comment on lines, and whether these were changed since."""

    comment: ReviewComment = field("The comment, as in the record.")
    is_taken_up: bool = field("Whether its lines were changed.")


class SinceRequestView(View):
    """What was last requested, and what changed since."""

    request: str = field("The request.")
    summary: Summary = field("What changed since.")
    trees: TreesView | None = field("The worktree before and after.", "pair")
    comments: tuple[CommentOutcomeView, ...] = field(
        "The comments on lines that this request and those before it had."
    )


class OtherBranchView(View):
    """The branch of the run, and the one that HEAD is on."""

    worked_on: str = field("The branch of the run.")
    now: str | None = field("The branch that HEAD is on; null where it is detached.")


class WorkElsewhereView(StepView):
    """Where the work of a run seems to be that changed nothing in its place, and how to take it."""

    where: str = field("The path of a worktree, or a branch.")


class _ChoiceFields(View):
    choice: Choice = field("Its name.")
    digit: int = field("Its digit, the same wherever it is offered.")
    label: str = field("Its label.")


class ChoiceView(StepView, _ChoiceFields):
    """One way to decide."""

    blocked_reason: str | None = field("Why it cannot be chosen.")


def _choices(checkpoint: Checkpoint) -> list[ChoiceView]:
    return [
        ChoiceView.of(
            checkpoint.command_for(offer),
            choice=offer.choice,
            digit=offer.digit,
            label=offer.label,
            blocked_reason=checkpoint.blocked_reason(offer.choice),
        )
        for offer in checkpoint.offers()
    ]


class CheckpointReached(EventOutput, event="checkpoint"):
    """A decision is due. Nobody is asked under `--json`: the call stops."""

    task: TaskId = field(_TASK, "task.id")
    title: str = field(_TITLE, "task.title")
    acceptance_criteria: tuple[str, ...] = field("When the task is done.", "task.acceptance_criteria")
    run: RunId = field(_RUN, "run.id")
    status: RunStatus = field("How the run ended.", "run.status")
    error: str | None = field("What went wrong.", "run.error")
    result: str | None = field("What the agent said at the end.", "run.final_text")
    summary: Summary = field("The change, bounded.")
    told: tuple[str, ...] = field("What the agent was told while it worked.", each="text")
    rulings: tuple[Ruling, ...] = field("What the agent decided itself instead of a person.")
    trees: TreesView | None = field("The change as two trees; null where a snapshot is missing.", "pair")
    moved: tuple[str, ...] = field("Paths of the change that look different in the worktree by now.")
    plan_changes: tuple[str, ...] = field("What the run changed in the plan.", "run.plan_edits")
    config_changes: tuple[str, ...] = field("What it changed in the configuration.", "run.config_edits")
    outside: Outside = field("What happened outside the place of its runs.")
    work_elsewhere: WorkElsewhereView | None = field(
        "Work that begins where the run began, if that changed nothing."
    )
    notes: tuple[str, ...] = field("What else is worth knowing.", "run.notes")
    runs: int = field("How many runs made the change.")
    cost_usd: float | None = field("What they cost together.")
    worktree: str | None = field("The task's own worktree, where the change is.")
    behind: int = field("How many other decisions wait.")
    unblocks: int = field("How many tasks wait for this one alone, directly or through others.")
    edited: tuple[str, ...] = field("Paths that were edited in that worktree after the run.")
    conflict: str | None = field("Which conflicts are not resolved.")
    both_added: Summary | None = field(
        "What it adds where your worktree has additions too, and an approval lands; null where that is not "
        "asked about."
    )
    commit: CommitPreviewView | None = field("What approving would commit; null where nothing.")
    check: CheckResult | None = field("What the user's check says of the change.", "run.check")
    review: MergedReview | None = field("Both reviews of the change as one.", "merged")
    suggested_request: str | None = field(
        "A change request with what a hook that refused the commit or a failed check printed, and what the "
        "reviewers found."
    )
    reasons: tuple[str, ...] = field("Why a person is to decide: nothing was changed, or the reviews.")
    since_request: SinceRequestView | None = field("What you last requested, and what changed since.")
    other_branch: OtherBranchView | None = field("Set where HEAD has left the branch of the run.")
    choices: tuple[ChoiceView, ...] = field("The ways to decide.", using=_choices)


class WaitingParent(View):
    """A parent that its review keeps from being done."""

    task: TaskId = field("The parent.", "task.id")
    run: RunId | None = field("The review.", "run_id")
    resume: tuple[TaskId, ...] = field("The children that it flags.", "flagged.resume")
    feedback: str = field("The beginning of what it asks for, in one line.", "flagged.feedback")
    fault: str | None = field("Why there is no verdict.", "flagged.fault")


_Seconds = Annotated[float, AfterValidator(lambda seconds: round(seconds, 3))]


class TaskTimingsView(View):
    """Where the time of the work on one task went."""

    task: TaskId = field("The task.", "task_id")
    phases: Mapping[events.Phase, _Seconds] = field("The seconds of each phase that there was.")
    seconds: _Seconds = field("The seconds of all of them.")


class TimingsEvent(EventOutput, event="timings"):
    """Where the time of the call went, with `--timings`; the line before `stop`."""

    tasks: tuple[TaskTimingsView, ...] = field("The tasks that were worked on, in the order of the work.")
    phases: Mapping[events.Phase, _Seconds] = field("The seconds of each phase, of all tasks.")
    other: _Seconds = field("The seconds that were spent on no task.")
    seconds: _Seconds = field("How long the call took.")


class StopEvent(EventOutput, event="stop"):
    """Why the call ended; the last line of a command that runs agents."""

    reason: StopReason = field("Why.")
    text: str = field("The same in words.")
    task: TaskId | None = field("The task that it is about.", "task_id")
    next_steps: Commands = field("The commands among `steps`.")
    steps: tuple[StepView, ...] = field("What to do next.", "next_steps")
    unblocks: Mapping[TaskId, int] = field("How many tasks wait for each of these answers alone.")
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field("Leaves that wait, and for which tasks.")
    blocked_parents: tuple[WaitingParent, ...] = field(
        "Parents that their review keeps from being done, with exit code 5.", "held"
    )
    exit_code: int = field("The exit code.")


_OUTPUTS: Mapping[type[events.Event], type[EventOutput]] = {
    events.RunStarted: RunStartedEvent,
    events.RunPlaced: RunPlacedEvent,
    events.RunProgress: RunProgressEvent,
    events.RunOutput: RunPrinted,
    events.RunEnded: RunEndedEvent,
    events.CheckEnded: CheckEndedEvent,
    events.LandingEnded: LandingEndedEvent,
    events.ReviewsEnded: ReviewsEndedEvent,
    events.Decided: DecidedEvent,
    events.LimitsHeld: LimitsHeldEvent,
    events.Notice: NoticeEvent,
}


def event_of(event: events.Event) -> EventOutput:
    """Return an event as it is printed."""
    return _OUTPUTS[type(event)].of(event)
