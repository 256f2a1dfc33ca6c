"""The events of commands that run agents, and how a call ends."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.cli.printed.base import (
    ChangeEvidence,
    HeldAgent,
    ParentReview,
    Step,
    as_step,
    change_evidence,
    parent_review_of,
)
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import runnable_steps
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.rules.queue import Flagged, Item
from git_blackbird.model.rules.reviews import result_of
from git_blackbird.model.run.agent_io import ProgressKind
from git_blackbird.model.run.findings import MergedReview, ReviewResult
from git_blackbird.model.run.parts import Question, Usage
from git_blackbird.model.run.states import (
    Choice,
    DecisionState,
    LandingState,
    RunStatus,
    RunType,
    TerminalReason,
)
from git_blackbird.model.run.summary import Totals
from git_blackbird.model.views.checkpoint import (
    Checkpoint,
    WorkElsewhere,
)
from git_blackbird.model.views.events import (
    CheckEnded,
    Decided,
    Event,
    LandingEnded,
    LimitsHeld,
    Notice,
    Phase,
    ReviewsEnded,
    RunEnded,
    RunOutput,
    RunPlaced,
    RunProgress,
    RunStarted,
    TaskTimings,
    Timings,
)
from git_blackbird.model.views.stop import Stop, StopReason


class RunStartedEvent(Printed[RunStarted]):
    """An agent was started."""

    field = Fields[RunStarted]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    title: str = field("The title of the task.", lambda it: it.title)
    run: RunId = field("The run.", lambda it: it.run_id)
    type: RunType = field("What it is for.", lambda it: it.run_type)
    provider: str = field("The agent.", lambda it: it.provider)
    resumes: RunId | None = field("The run whose session it continues.", lambda it: it.resumes)
    pid: int | None = field("Its process; null where it works on a worker of a cluster.", lambda it: it.pid)
    is_taken_up: bool = field(
        "Whether an earlier call started it on a worker, and this one takes it up.", lambda it: it.is_taken_up
    )


class RunProgressEvent(Printed[RunProgress]):
    """What an agent does. Dropped while the reader does not keep up."""

    field = Fields[RunProgress]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run.", lambda it: it.run_id)
    kind: ProgressKind = field("What it does; `spends` has no text.", lambda it: it.progress.kind)
    text: str = field(
        "The same in words: one line, but several where the kind is `says`.", lambda it: it.progress.text
    )
    usage: Usage | None = field(
        "Tokens of the run so far; null where the step does not tell.", lambda it: it.progress.usage
    )
    cost_usd: float | None = field(
        "What it cost so far; null where the step does not tell.", lambda it: it.progress.cost_usd
    )


class RunPrinted(Printed[RunOutput]):
    """What an agent printed, with `--stream`. Dropped while the reader does not keep up."""

    field = Fields[RunOutput]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run.", lambda it: it.run_id)
    stream: str = field("`stdout` or `stderr`.", lambda it: it.stream)
    text: str = field("What was printed, as it is.", lambda it: it.data.decode(errors="replace"))
    skipped_bytes: int = field("What was printed before it, too fast to be read.", lambda it: it.skipped)


def _totals(ended: RunEnded) -> Totals | None:
    summary = ended.run.review_summary
    return None if summary is None or summary.minimal is not None else summary.totals


class RunEndedEvent(Printed[RunEnded]):
    """A run is over."""

    field = Fields[RunEnded]()
    task: TaskId = field("The task.", lambda it: it.run.task_id)
    title: str = field("The title of the task.", lambda it: it.title)
    run: RunId = field("The run.", lambda it: it.run.id)
    type: RunType = field("What it was for.", lambda it: it.run.run_type)
    status: RunStatus = field("How it ended.", lambda it: it.run.status)
    terminal_reason: TerminalReason | None = field(
        "Why, where the status does not say.", lambda it: it.run.terminal_reason
    )
    exit_code: int | None = field("The exit code of the agent.", lambda it: it.run.exit_code)
    error: str | None = field("What went wrong.", lambda it: it.run.error)
    decision: DecisionState | None = field(
        "`pending` where a decision is due.", lambda it: it.run.decision_state
    )
    cost_usd: float | None = field("What it cost, as the agent reports.", lambda it: it.run.cost_usd)
    usage: Usage | None = field("Its tokens.", lambda it: it.run.usage)
    changes: Totals | None = field("What it changed, in numbers.", _totals)
    parent_review: ParentReview | None = field(
        "The verdict, where the type is `review`.", lambda it: parent_review_of(it.run)
    )
    reviewed_run: RunId | None = field("The run whose change it reviewed.", lambda it: it.run.reviewed_run)
    review_result: ReviewResult | None = field(
        "What it found as a reviewer of a change.", lambda it: result_of(it.run)
    )
    seconds: float = field("How long it took.", lambda it: round(it.seconds, 3))


class CheckEndedEvent(Printed[CheckEnded]):
    """The user's check of a change is over."""

    field = Fields[CheckEnded]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run whose change it is.", lambda it: it.run.id)
    evidence: ChangeEvidence = field("What it says.", lambda it: ChangeEvidence(it.evidence))
    reasons: tuple[str, ...] = field("Why a person is to decide, where one is.", lambda it: it.reasons)
    decision_state: DecisionState | None = field(
        "`changes_requested`: sent back; `pending`: for a person; else it goes on.",
        lambda it: it.run.decision_state,
    )


class LandingEndedEvent(Printed[LandingEnded]):
    """The change of a task has landed, or could not."""

    field = Fields[LandingEnded]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run whose change it is.", lambda it: it.run.id)
    landing: LandingState | None = field(
        "`landed`: it is in your worktree; `due`: sent back to its session; `blocked`: for a person.",
        lambda it: None if it.run.landing is None else it.run.landing.state,
    )
    reasons: tuple[str, ...] = field(
        "Why it was sent back, or a person is to decide, or what is not as it was meant.",
        lambda it: it.reasons,
    )
    decision_state: DecisionState | None = field("The decision on it.", lambda it: it.run.decision_state)


class ReviewsEndedEvent(Printed[ReviewsEnded]):
    """Both reviews of a change are over."""

    field = Fields[ReviewsEnded]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run whose change it is.", lambda it: it.run.id)
    round: int | None = field("The round of reviews.", lambda it: it.run.review_round)
    max_rounds: int = field("How many rounds there may be.", lambda it: it.max_rounds)
    reasons: tuple[str, ...] = field("Why a person is to decide, where one is.", lambda it: it.reasons)
    decision_state: DecisionState | None = field(
        "`changes_requested`: sent back; `pending`: for a person; else it goes on.",
        lambda it: it.run.decision_state,
    )
    review: MergedReview = field("Both reviews as one.", lambda it: it.merged)


class DecidedEvent(Printed[Decided]):
    """A decision was recorded."""

    field = Fields[Decided]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    run: RunId = field("The run.", lambda it: it.run_id)
    state: DecisionState = field("What was decided.", lambda it: it.state)
    elsewhere: bool = field("Whether another command recorded it.", lambda it: it.elsewhere)
    commit: str | None = field(
        "The id of what an approval committed.", lambda it: None if it.commit is None else it.commit.oid
    )


class LimitsHeldEvent(Printed[LimitsHeld]):
    """Nothing else can be done, and the call waits until the first of these limits is over."""

    field = Fields[LimitsHeld]()
    limits: tuple[HeldAgent, ...] = field(
        "The usage limits; none where it goes on.", lambda it: tuple(map(HeldAgent, it.holds))
    )


class Dropped(NamedTuple):
    """Events were left out because the reader did not keep up."""

    events: Annotated[int, Shown("How many of `progress` and `output` since the last line.")]


class QuestionsAsked(NamedTuple):
    """An agent asks something. Nobody is asked under `--json`: the call stops."""

    task: Annotated[TaskId, Shown("The task.")]
    questions: Annotated[tuple[Question, ...], Shown("What it asks.")]


class FoundWork(Printed[WorkElsewhere]):
    """Where the work of a run seems to be that changed nothing in its place, and how to take it."""

    field = Fields[WorkElsewhere]()
    step: Step = field("", lambda it: as_step(it.command), is_spread=True)
    where: str = field("The path of a worktree, or a branch.", lambda it: it.where)


class OfferedChoice(NamedTuple):
    """One way to decide."""

    choice: Annotated[Choice, Shown("Its name.")]
    digit: Annotated[int, Shown("Its digit, the same wherever it is offered.")]
    label: Annotated[str, Shown("Its label.")]
    step: Annotated[Step, Shown("", is_spread=True)]
    blocked_reason: Annotated[str | None, Shown("Why it cannot be chosen.")]


def _choices(checkpoint: Checkpoint) -> tuple[OfferedChoice, ...]:
    return tuple(
        OfferedChoice(
            offer.choice,
            offer.digit,
            offer.label,
            as_step(checkpoint.command_for(offer)),
            checkpoint.blocked_reason(offer.choice),
        )
        for offer in checkpoint.offers()
    )


class CheckpointReached(Printed[Checkpoint]):
    """A decision is due. Nobody is asked under `--json`: the call stops."""

    field = Fields[Checkpoint]()
    task: TaskId = field("The task.", lambda it: it.task.id)
    title: str = field("The title of the task.", lambda it: it.task.title)
    acceptance_criteria: tuple[str, ...] = field(
        "When the task is done.", lambda it: it.task.acceptance_criteria
    )
    run: RunId = field("The run.", lambda it: it.run.id)
    agent: str = field("Its agent.", lambda it: it.run.provider)
    worker: str | None = field("The worker that it ran on.", lambda it: it.run.worker)
    status: RunStatus = field("How the run ended.", lambda it: it.run.status)
    error: str | None = field("What went wrong.", lambda it: it.run.error)
    result: str | None = field("What the agent said at the end.", lambda it: it.run.final_text)
    told: tuple[str, ...] = field(
        "What the agent was told while it worked.", lambda it: tuple(one.text for one in it.told)
    )
    checkpoint: Checkpoint = field("", lambda it: it, is_spread=True)
    evidence: ChangeEvidence | None = field(
        "What is known of the change from running it.", lambda it: change_evidence(it.run.evidence)
    )
    plan_changes: tuple[str, ...] = field("What the run changed in the plan.", lambda it: it.run.plan_edits)
    config_changes: tuple[str, ...] = field(
        "What it changed in the configuration.", lambda it: it.run.config_edits
    )
    work_elsewhere: FoundWork | None = field(
        "Work that begins where the run began, if that changed nothing.",
        lambda it: None if it.work_elsewhere is None else FoundWork(it.work_elsewhere),
    )
    hook_output: str | None = field(
        "What a hook printed that refused the commit.", lambda it: it.run.hook_output
    )
    masked_secrets: Mapping[str, int] = field(
        "How many secrets were masked in its output, by kind.", lambda it: it.run.masked_secrets or {}
    )
    notes: tuple[str, ...] = field("What else is worth knowing.", lambda it: it.run.notes)
    choices: tuple[OfferedChoice, ...] = field("The ways to decide.", _choices)


class WaitingParent(Printed[Flagged]):
    """A parent that its review keeps from being done."""

    def __init__(self, item: Item, flagged: Flagged) -> None:
        super().__init__(flagged)
        self.task, self.run = item.task.id, item.run_id

    field = Fields[Flagged]()
    task: Annotated[TaskId, Shown("The parent.")]
    run: Annotated[RunId | None, Shown("The review.")]
    resume: tuple[TaskId, ...] = field("The children that it flags.", lambda it: it.resume)
    feedback: str = field("The beginning of what it asks for, in one line.", lambda it: it.feedback)
    fault: str | None = field("Why there is no verdict.", lambda it: it.fault)


def _rounded(phases: Mapping[Phase, float]) -> Mapping[Phase, float]:
    return {phase: round(seconds, 3) for phase, seconds in phases.items()}


class TaskTime(Printed[TaskTimings]):
    """Where the time of the work on one task went."""

    field = Fields[TaskTimings]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    phases: Mapping[Phase, float] = field(
        "The seconds of each phase that there was.", lambda it: _rounded(it.phases)
    )
    seconds: float = field("The seconds of all of them.", lambda it: round(it.seconds, 3))


class TimingsEvent(Printed[Timings]):
    """Where the time of the call went, with `--timings`; the line before `stop`."""

    field = Fields[Timings]()
    tasks: tuple[TaskTime, ...] = field(
        "The tasks that were worked on, in the order of the work.", lambda it: tuple(map(TaskTime, it.tasks))
    )
    phases: Mapping[Phase, float] = field(
        "The seconds of each phase, of all tasks.", lambda it: _rounded(it.phases)
    )
    other: float = field("The seconds that were spent on no task.", lambda it: round(it.other, 3))
    seconds: float = field("How long the call took.", lambda it: round(it.seconds, 3))


class StopEvent(Printed[Stop]):
    """Why the call ended; the last line of a command that runs agents."""

    field = Fields[Stop]()
    reason: StopReason = field("Why.", lambda it: it.reason)
    text: str = field("The same in words.", lambda it: it.text)
    task: TaskId | None = field("The task that it is about.", lambda it: it.task_id)
    next_steps: tuple[str, ...] = field(
        "The commands among `steps`.", lambda it: tuple(runnable_steps(it.next_steps))
    )
    steps: tuple[Step, ...] = field("What to do next.", lambda it: tuple(map(as_step, it.next_steps)))
    unblocks: Mapping[TaskId, int] = field(
        "How many tasks wait for each of these answers alone.", lambda it: it.unblocks
    )
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field(
        "Leaves that wait, and for which tasks.", lambda it: it.blocked
    )
    blocked_parents: tuple[WaitingParent, ...] = field(
        "Parents that their review keeps from being done, with exit code 5.",
        lambda it: tuple(WaitingParent(item, item.flagged) for item in it.held if item.flagged is not None),
    )
    exit_code: int = field("The exit code.", lambda it: it.exit_code)


EVENTS: Mapping[type[Event], tuple[str, Any]] = {
    RunStarted: ("run_started", RunStartedEvent),
    RunPlaced: ("run_placed", RunPlaced),
    RunProgress: ("progress", RunProgressEvent),
    RunOutput: ("output", RunPrinted),
    RunEnded: ("run_ended", RunEndedEvent),
    CheckEnded: ("check_ended", CheckEndedEvent),
    LandingEnded: ("landing_ended", LandingEndedEvent),
    ReviewsEnded: ("reviews_ended", ReviewsEndedEvent),
    Decided: ("decided", DecidedEvent),
    LimitsHeld: ("limits_held", LimitsHeldEvent),
    Notice: ("notice", Notice),
}
"""The name of each event, and the class that is printed of it."""


def shown_event(event: Event) -> tuple[str, object]:
    """Return the name of an event, and what is printed of it."""
    name, kind = EVENTS[type(event)]
    return name, event if isinstance(event, kind) else kind(event)
