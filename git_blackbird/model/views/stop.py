"""How a call ended, with its exit code and its next steps."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from git_blackbird.errors import ExitCode
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import CallOptions, TaskCommand, with_options
from git_blackbird.model.rules.queue import Item


class StopReason(StrEnum):
    """Why a call stopped; where several apply, the first of them is its reason."""

    INTERRUPTED = "interrupted"
    DECISION_REQUIRED = "decision_required"
    AGENT_UNAVAILABLE = "agent_unavailable"
    PARENT_REVIEW_REQUIRED = "parent_review_required"
    WAITING_USER = "waiting_user"
    BUDGET_SPENT = "budget_spent"
    UNREADABLE_RECORD = "unreadable_record"
    FAILED = "failed"
    COMPLETED = "completed"


EXIT_CODES: Mapping[StopReason, ExitCode] = {
    StopReason.INTERRUPTED: ExitCode.INTERRUPTED,
    StopReason.DECISION_REQUIRED: ExitCode.DECISION_REQUIRED,
    StopReason.AGENT_UNAVAILABLE: ExitCode.AGENT_UNAVAILABLE,
    StopReason.PARENT_REVIEW_REQUIRED: ExitCode.PARENT_REVIEW_REQUIRED,
    StopReason.WAITING_USER: ExitCode.WAITING_USER,
    StopReason.BUDGET_SPENT: ExitCode.WAITING_USER,
    StopReason.UNREADABLE_RECORD: ExitCode.UNUSABLE,
    StopReason.FAILED: ExitCode.FAILED,
    StopReason.COMPLETED: ExitCode.OK,
}


_ANSWERS = frozenset({"decide", "resume", "resume --all", "restart", "retry", "review dismiss"})


@dataclass(frozen=True)
class Stop:
    """How a command stopped: one line of text, the next steps as commands, and the blocked tasks.

    With ``is_choice`` the next steps are alternatives, else each is separate. ``unblocked`` counts the tasks
    of the plan that wait for each task alone.
    """

    reason: StopReason
    text: str
    next_steps: tuple[str, ...] = ()
    task_id: TaskId | None = None
    blocked: Mapping[TaskId, tuple[TaskId, ...]] = field(default_factory=dict)
    held: tuple[Item, ...] = ()
    is_choice: bool = False
    unblocked: Mapping[TaskId, int] = field(default_factory=dict, compare=False, repr=False)

    def with_options(self, options: CallOptions) -> "Stop":
        """Add the options of the command to the next steps; duplicates are dropped."""
        steps = (with_options(step, options) for step in self.next_steps)
        return replace(self, next_steps=tuple(dict.fromkeys(steps)))

    @property
    def unblocks(self) -> Mapping[TaskId, int]:
        """How many tasks wait for each answer among the next steps alone."""
        answered = (TaskId(step.task_id or "") for step in map(_answer, self.next_steps) if step)
        return {task_id: self.unblocked[task_id] for task_id in answered if task_id in self.unblocked}

    @property
    def remarked_steps(self) -> Iterator[str]:
        """The next steps, the first answer for each task with how many it unblocks."""
        unnamed = dict(self.unblocks)
        for step in self.next_steps:
            answer = _answer(step)
            if answer and (count := unnamed.pop(TaskId(answer.task_id or ""), 0)):
                what = f"unblocks {count} {'task' if count == 1 else 'tasks'}"
                yield answer.with_remark("; ".join(filter(None, (answer.remark, what))))
            else:
                yield step

    @property
    def exit_code(self) -> ExitCode:
        return EXIT_CODES[self.reason]


def first_of(stops: Iterable[Stop]) -> Stop:
    """Return the stop whose reason comes first, the earliest of several with one reason."""
    order = list(StopReason)
    return min(stops, key=lambda stop: order.index(stop.reason))


def _answer(step: str) -> TaskCommand | None:
    """Return a step as the answer for a task; None where it is none."""
    return step if isinstance(step, TaskCommand) and step.verb in _ANSWERS else None
