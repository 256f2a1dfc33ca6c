"""How a call ended, with its exit code and its next steps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from git_blackbird.errors import ExitCode
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import CallOptions, with_options
from git_blackbird.model.rules.state import ParentReviewStatus


class StopReason(StrEnum):
    """Why a call stopped; where several apply, the first of them is its reason."""

    INTERRUPTED = "interrupted"
    DECISION_REQUIRED = "decision_required"
    AGENT_UNAVAILABLE = "agent_unavailable"
    PARENT_REVIEW_REQUIRED = "parent_review_required"
    WAITING_USER = "waiting_user"
    UNREADABLE_RECORD = "unreadable_record"
    FAILED = "failed"
    COMPLETED = "completed"


EXIT_CODES: Mapping[StopReason, ExitCode] = {
    StopReason.INTERRUPTED: ExitCode.INTERRUPTED,
    StopReason.DECISION_REQUIRED: ExitCode.DECISION_REQUIRED,
    StopReason.AGENT_UNAVAILABLE: ExitCode.AGENT_UNAVAILABLE,
    StopReason.PARENT_REVIEW_REQUIRED: ExitCode.PARENT_REVIEW_REQUIRED,
    StopReason.WAITING_USER: ExitCode.WAITING_USER,
    StopReason.UNREADABLE_RECORD: ExitCode.UNUSABLE,
    StopReason.FAILED: ExitCode.FAILED,
    StopReason.COMPLETED: ExitCode.OK,
}


@dataclass(frozen=True)
class Stop:
    """How a command stopped: one line of text, the next steps as commands, and the blocked tasks.

    With ``is_choice`` the next steps are alternatives, else each is separate.
    """

    reason: StopReason
    text: str
    next_steps: tuple[str, ...] = ()
    task_id: TaskId | None = None
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field(default_factory=dict)
    held: tuple[ParentReviewStatus, ...] = ()
    is_choice: bool = False

    def with_options(self, options: CallOptions) -> "Stop":
        """Add the options of the command to the next steps; duplicates are dropped."""
        steps = (with_options(step, options) for step in self.next_steps)
        return replace(self, next_steps=tuple(dict.fromkeys(steps)))

    @property
    def exit_code(self) -> ExitCode:
        """The process exit status for this stop."""
        return EXIT_CODES[self.reason]


def first_of(stops: Iterable[Stop]) -> Stop:
    """Return the stop whose reason comes first, the earliest of several with one reason."""
    order = list(StopReason)
    return min(stops, key=lambda stop: order.index(stop.reason))
