"""How a command ended: why the loop stopped, and what a status change affected."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from git_blackbird.errors import ExitCode
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import CallOptions, with_options
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.run import Run
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.state import ParentReviewStatus


class StopReason(StrEnum):
    """The stop reasons of DESIGN.md 5."""

    INTERRUPTED = "interrupted"
    DECISION_REQUIRED = "decision_required"
    PARENT_REVIEW_REQUIRED = "parent_review_required"
    WAITING_USER = "waiting_user"
    AGENT_UNAVAILABLE = "agent_unavailable"
    UNREADABLE_RECORD = "unreadable_record"
    FAILED = "failed"
    COMPLETED = "completed"


EXIT_CODES: Mapping[StopReason, ExitCode] = {
    StopReason.INTERRUPTED: ExitCode.INTERRUPTED,
    StopReason.DECISION_REQUIRED: ExitCode.DECISION_REQUIRED,
    StopReason.PARENT_REVIEW_REQUIRED: ExitCode.PARENT_REVIEW_REQUIRED,
    StopReason.WAITING_USER: ExitCode.WAITING_USER,
    StopReason.AGENT_UNAVAILABLE: ExitCode.AGENT_UNAVAILABLE,
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


@dataclass(frozen=True)
class StatusChange:
    """The effects of a status change: the superseded runs, and the task's pending messages.

    ``dependents`` build on the task and are not undone; ``reopened`` parents changed with it. ``let_go`` is
    undelivered feedback of a review that was dropped. ``commits`` has a line for each commit that its hook
    had left to be recorded.
    """

    task_id: TaskId
    status: Status
    overtaken: tuple[Run, ...] = ()
    pending: tuple[str, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    reopened: tuple[TaskId, ...] = ()
    let_go: Feedback | None = None
    commits: tuple[str, ...] = ()
