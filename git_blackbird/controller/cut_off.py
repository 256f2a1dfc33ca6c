"""What readers say of an approval that was cut off; who writes next mends it (DESIGN.md 10)."""

from dataclasses import dataclass

from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.commands import EXECUTE, task_command
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.storage.approval_note import load_note
from git_blackbird.storage.locks import run_being_approved


@dataclass(frozen=True)
class CutOffApproval:
    """An approval that was killed on its way: ``command`` finishes it.

    ``commit`` is what HEAD has of it, None where nothing was committed; the index may not follow it, and
    with ``is_recorded`` that is all that is left to do.
    """

    task_id: TaskId
    run_id: RunId
    commit: str | None
    is_recorded: bool
    command: str


def find_cut_off(workspace: Workspace) -> CutOffApproval | None:
    """Give the approval of which a part is still to be done and nobody is at work on it; writes nothing."""
    note = load_note(workspace.layout)
    if note is None or run_being_approved(workspace.layout) is not None:
        return None
    from git_blackbird.git.commit_log import commit_of_run  # noqa: PLC0415  # hardly ever there is one

    oid = commit_of_run(workspace.repo, note.run_id, note.parent)
    run = workspace.store.records.history(note.task_id).find(note.run_id)
    is_pending = run is not None and run.is_pending
    if oid is None and not is_pending:
        return None
    commits = workspace.settings.text("execution.commit") == "approved"
    again = task_command("decide", note.task_id, " --approve")
    command = again if is_pending and commits else EXECUTE
    return CutOffApproval(note.task_id, note.run_id, oid, is_recorded=not is_pending, command=command)
