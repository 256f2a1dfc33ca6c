"""What happens while agents run, as a face is told it."""

from dataclasses import dataclass
from enum import StrEnum

from git_blackbird.model.checkpoint import ApprovalCommit
from git_blackbird.model.conversation import Progress
from git_blackbird.model.findings import MergedReview
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import DecisionState, Run, RunType


@dataclass(frozen=True)
class RunStarted:
    """An agent was let go on a task."""

    task_id: TaskId
    title: str
    run_id: RunId
    provider: str
    resumes: RunId | None
    pid: int
    run_type: RunType = RunType.EXECUTE


@dataclass(frozen=True)
class RunProgressed:
    """The agent's output says what it does."""

    task_id: TaskId
    run_id: RunId
    progress: Progress


@dataclass(frozen=True)
class RunPrinted:
    """Raw output of the agent, for who asked to see it.

    ``stream`` is ``stdout`` or ``stderr``. Not ``is_plain``, what the first has is an event stream for
    programs: ``RunProgressed`` says the same to people.
    """

    task_id: TaskId
    run_id: RunId
    data: bytes
    stream: str = "stdout"
    is_plain: bool = True


@dataclass(frozen=True)
class RunEnded:
    """A run's record was closed; ``seconds`` by the monotonic clock."""

    run: Run
    title: str
    seconds: float


@dataclass(frozen=True)
class Decided:
    """A decision was recorded, here or from elsewhere; ``commit`` is what it committed here.

    ``is_of_failure``: it is about a run that failed.
    """

    task_id: TaskId
    run_id: RunId
    state: DecisionState
    elsewhere: bool
    commit: ApprovalCommit | None = None
    is_of_failure: bool = False


@dataclass(frozen=True)
class ReviewsEnded:
    """Both reviews of a change are over; ``run`` is the run whose change it is, as it stands after them.

    ``reasons`` say why a person is to decide, where one is; ``max_rounds`` is how many rounds there may be.
    """

    task_id: TaskId
    run: Run
    merged: MergedReview
    max_rounds: int = 0
    reasons: tuple[str, ...] = ()


class Weight(StrEnum):
    """How much a notice wants to be seen."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True)
class Notice:
    """Something to know, on one line, with the way out where there is one."""

    weight: Weight
    text: str
    hint: str | None = None
    task_id: TaskId | None = None


Event = RunStarted | RunProgressed | RunPrinted | RunEnded | ReviewsEnded | Decided | Notice
