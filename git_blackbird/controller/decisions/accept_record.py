"""Accept a record that another program wrote while an agent worked."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.controller.core.status_sync import save_feedback_and_statuses
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.history import FEEDBACK
from git_blackbird.model.entities.status import Status
from git_blackbird.storage.store import Transaction


class Accepted(NamedTuple):
    """An accepted file, and the resulting status of its task; None for one that is not in the plan."""

    path: Path
    status: Status | None


def accept_record(workspace: Workspace, task_id: str, named: str) -> Accepted:
    """Accept the record whose run id begins with ``named``; "feedback" is the task's review feedback.

    Raises RequestError where there is no such record, and for an agent; UnusableError, SaveError.
    """
    workspace.forbid_agents("accept a record")
    with workspace.transaction() as transaction:
        feedback = workspace.paths.feedback_file(TaskId(task_id))
        refused = dict.fromkeys(_refused(workspace, transaction, TaskId(task_id), feedback))
        matches = [
            path for path in refused if (FEEDBACK if path == feedback else path.stem).startswith(named)
        ]
        if len(matches) != 1:
            which = "more than one record" if matches else "no record"
            raise RequestError(
                f"{which} of {task_id} that was ignored begins with {named!a}",
                hint=task_command("runs", task_id),
            )
        try:
            transaction.confirm(matches[0])
        except OSError as error:
            raise UnusableError(f"cannot read {matches[0]}: {error.strerror}") from error
        task = save_feedback_and_statuses(workspace, transaction).state.plan.tasks.get(TaskId(task_id))
        return Accepted(matches[0], None if task is None else task.status)


def _refused(
    workspace: Workspace, transaction: Transaction, task_id: TaskId, feedback: Path
) -> Iterator[Path]:
    """Return the files of a task that a person may let count."""
    saved = transaction.saved_feedback()
    records = workspace.store.records
    histories = records.history(task_id), records.reviews(task_id)
    yield from (Path(record.path) for history in histories for record in history.unconfirmed)
    yield from (Path(record.path) for history in histories for record in history.faults if record.accept)
    rewritten = (fault.path for fault in saved.faults if fault.accept)
    if str(feedback) in {*(record.path for record in saved.unconfirmed), *rewritten}:
        yield feedback
