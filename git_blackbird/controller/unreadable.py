"""Stopping at records that cannot be used: the task they stop, each file, and the way out."""

from collections.abc import Sequence

from git_blackbird.controller.face import Face
from git_blackbird.errors import UnusableError
from git_blackbird.model.due import Call
from git_blackbird.model.events import Notice, Weight
from git_blackbird.model.history import History, RecordFault
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.standing import Standing
from git_blackbird.model.stop import Stop, StopReason
from git_blackbird.model.unreadable import unreadable_below


class UnreadableRecordError(UnusableError):
    """Nothing can be done with a task beside a record of it that cannot be used."""

    def __init__(self, task_id: TaskId, faults: Sequence[RecordFault]) -> None:
        hint = "\n".join(fault.way_out for fault in faults)
        super().__init__(stopped_text(task_id, faults), hint=hint)


def stopped_text(task_id: TaskId, faults: Sequence[RecordFault]) -> str:
    """Say which files stop a task, and why they cannot be used."""
    what = "a record that cannot" if len(faults) == 1 else "records that cannot"
    listed = "; ".join(f"{fault.path}: {fault.what}" for fault in faults)
    return f"{task_id} is stopped by {what} be used: {listed}"


def unreadable_stop(standing: Standing, call: Call) -> Stop | None:
    """Say how a call ends that is about tasks which such records stop; None where it is about none."""
    stopped = {task_id: one for task_id, one in standing.unreadable.items() if call.covers(task_id)}
    if not stopped:
        return None
    return Stop(
        StopReason.UNREADABLE_RECORD,
        "\n".join(stopped_text(task_id, faults) for task_id, faults in stopped.items()),
        tuple(fault.way_out for faults in stopped.values() for fault in faults),
        next(iter(stopped)),
    )


def name_stopped(face: Face, standing: Standing, stop: Stop) -> None:
    """Name each record that stops a task and that the end of a call does not name."""
    for task_id, faults in standing.unreadable.items():
        for fault in faults:
            if fault.way_out not in stop.next_steps:
                text = stopped_text(task_id, (fault,))
                face.notify(Notice(Weight.WARNING, text, fault.way_out, task_id))


def require_usable(task_id: TaskId, history: History) -> None:
    """Refuse to do anything by the runs of a task beside one that cannot be used.

    Raises UnreadableRecordError.
    """
    if history.faults:
        raise UnreadableRecordError(task_id, history.faults)


def require_readable(standing: Standing, task: Task) -> None:
    """Refuse to do anything with a task, or a parent of one, beside a record that cannot be used.

    Raises UnreadableRecordError.
    """
    for one in unreadable_below(standing, task):
        raise UnreadableRecordError(one.id, standing.unreadable[one.id])
