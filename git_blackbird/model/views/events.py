"""What a command tells user interfaces while it runs."""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NamedTuple, Self

from git_blackbird.errors import joined_lines, legible_lines
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunType
from git_blackbird.model.views.checkpoint import ApprovalCommit

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import Evidence


class RunStarted(NamedTuple):
    """An agent was started on a task; without ``pid`` it is to work on another machine.

    ``is_taken_up``: an earlier call started it there.
    """

    task_id: TaskId
    title: str
    run_id: RunId
    provider: str
    resumes: RunId | None
    pid: int | None
    run_type: RunType = RunType.EXECUTE
    is_taken_up: bool = False


class RunPlaced(NamedTuple):
    """A worker of a cluster has taken a run."""

    task_id: Annotated[TaskId, Shown("The task.", "task")]
    run_id: Annotated[RunId, Shown("The run.", "run")]
    worker: Annotated[str, Shown("The name of the worker.")]


class RunProgress(NamedTuple):
    task_id: TaskId
    run_id: RunId
    progress: Progress


class RunOutput(NamedTuple):
    """Raw output of the agent, if requested.

    ``stream`` is ``stdout`` or ``stderr``; ``skipped`` counts the bytes before ``data`` that were printed
    faster than they could be read. Unless ``is_plain``, standard output is an event stream for
    programs, and ``RunProgress`` has it in readable form.
    """

    task_id: TaskId
    run_id: RunId
    data: bytes
    stream: str = "stdout"
    skipped: int = 0
    is_plain: bool = True


class RunEnded(NamedTuple):
    """A run's record was closed; ``seconds`` by the monotonic clock."""

    run: Run
    title: str
    seconds: float


class Decided(NamedTuple):
    """A decision was recorded, here or by another process; ``commit`` is what it committed here.

    ``is_of_failure``: it is about a run that failed. ``undoes``: what was rejected is taken back next.
    """

    task_id: TaskId
    run_id: RunId
    state: DecisionState
    elsewhere: bool
    commit: ApprovalCommit | None = None
    is_of_failure: bool = False
    undoes: bool = False


class CheckEnded(NamedTuple):
    """The user's check of a change is over; ``run`` is the run as recorded after it.

    ``reasons`` say why a person has to decide, if so.
    """

    task_id: TaskId
    run: Run
    evidence: "Evidence"
    reasons: tuple[str, ...] = ()


class LandingEnded(NamedTuple):
    """The change of a task has landed, was sent back to its session, or is left to a person.

    ``run`` is the run as recorded after it, ``commit`` what was committed. ``reasons`` say why it was sent
    back, or why a person has to decide; of one that has landed, what is not as it was meant.
    """

    task_id: TaskId
    run: Run
    commit: ApprovalCommit | None = None
    reasons: tuple[str, ...] = ()


class ReviewsEnded(NamedTuple):
    """Both reviews of a change are over; ``run`` is the reviewed run, as recorded after them.

    ``reasons`` say why a person has to decide, if so; ``max_rounds`` limits the rounds.
    """

    task_id: TaskId
    run: Run
    merged: MergedReview
    max_rounds: int = 0
    reasons: tuple[str, ...] = ()


class LimitsHeld(NamedTuple):
    """The call waits for these usage limits, ``now`` in nanoseconds since 1970; without any it goes on."""

    holds: tuple[LimitHold, ...]
    now: int


class Level(StrEnum):
    """The severity of a notice."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class _NoticeFields(NamedTuple):
    weight: Annotated[Level, Shown("How important it is.", "level")]
    text: Annotated[str, Shown("What it is, in one line.")]
    ways_out: tuple[str, ...] = ()
    task_id: Annotated[TaskId | None, Shown("The task that it is about.", "task")] = None


class Notice(_NoticeFields):
    """Something to know. Its texts are cleaned here, since they may name anything.

    The text is one line or, given several, these; ways out are commands or prose, as those of an error.
    """

    __slots__ = ()

    def __new__(
        cls,
        weight: Level,
        text: str | tuple[str, ...],
        hint: str | tuple[str, ...] | None = None,
        task_id: TaskId | None = None,
    ) -> Self:
        return tuple.__new__(cls, (weight, joined_lines(legible_lines(text)), legible_lines(hint), task_id))

    @property
    def hint(self) -> Annotated[str | None, Shown("What to do, in lines.")]:
        return joined_lines(self.ways_out)


class Phase(StrEnum):
    """The parts of the work on a task whose time is measured, in the order in which they are shown."""

    WORKTREE = "worktree"
    SNAPSHOT = "snapshot"
    RECORD = "record"
    AGENT = "agent"
    SUMMARY = "summary"
    CHECK = "check"
    LANDING = "landing"
    REVIEWS = "reviews"
    DECISION = "decision"


class TaskTimings(NamedTuple):
    """The seconds that each phase of the work on one task took."""

    task_id: TaskId
    phases: Mapping[Phase, float]

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())


class Timings(NamedTuple):
    """Where the time of a call went: by task, in the order in which work on them began, and in all."""

    tasks: tuple[TaskTimings, ...]
    seconds: float

    @classmethod
    def of(cls, spent: Mapping[tuple[str, str], float], seconds: float) -> "Timings":
        """Sort what was measured; ``seconds`` is how long the call took."""
        tasks: dict[str, dict[Phase, float]] = {}
        for (task_id, phase), took in spent.items():
            tasks.setdefault(task_id, {})[Phase(phase)] = took
        return cls(tuple(TaskTimings(TaskId(name), phases) for name, phases in tasks.items()), seconds)

    @property
    def phases(self) -> Mapping[Phase, float]:
        named = {
            phase: [task.phases[phase] for task in self.tasks if phase in task.phases] for phase in Phase
        }
        return {phase: sum(seconds) for phase, seconds in named.items() if seconds}

    @property
    def other(self) -> float:
        """The seconds spent on no task: planning, recovery, and what is not measured."""
        return max(0.0, self.seconds - sum(self.phases.values()))


Event = (
    RunStarted
    | RunPlaced
    | RunProgress
    | RunOutput
    | RunEnded
    | CheckEnded
    | LandingEnded
    | ReviewsEnded
    | Decided
    | LimitsHeld
    | Notice
)
