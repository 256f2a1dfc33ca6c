"""Refuse to act on a task with unusable records, naming each file and what to do."""

from collections.abc import Sequence

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import History, RecordError
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.rules.state import PlanState, unreadable_below


class UnreadableRecordError(UnusableError):
    """A task has a record that cannot be used."""

    def __init__(self, task_id: TaskId, faults: Sequence[RecordError]) -> None:
        hint = "\n".join(fault.hint for fault in faults)
        super().__init__(stopped_text(task_id, faults), hint=hint)


def stopped_text(task_id: TaskId, faults: Sequence[RecordError]) -> str:
    """Name the files that block a task, and why they cannot be used."""
    what = "a record that cannot" if len(faults) == 1 else "records that cannot"
    listed = "; ".join(f"{fault.path}: {fault.what}" for fault in faults)
    return f"{task_id} is stopped by {what} be used: {listed}"


def require_usable(task_id: TaskId, history: History) -> None:
    """Refuse to act on the runs of a task if one of them cannot be used.

    Raises UnreadableRecordError.
    """
    if history.faults:
        raise UnreadableRecordError(task_id, history.faults)


def require_readable(state: PlanState, task: Task) -> None:
    """Refuse to act on a task, or a parent of one, that has an unusable record.

    Raises UnreadableRecordError.
    """
    for one in unreadable_below(state, task):
        raise UnreadableRecordError(one.id, state.unreadable[one.id])
