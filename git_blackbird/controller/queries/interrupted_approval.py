"""An approval that was cut off between its commit and its record, as readers show it."""

from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.storage.locks import approval_in_progress
from git_blackbird.storage.notes import load_pending_approval


class InterruptedApproval(NamedTuple):
    """An interrupted approval; ``command`` finishes it.

    ``commit`` is what HEAD has of it, None where nothing was committed; the index may not follow it, and
    with ``is_recorded`` that is all that is left to do.
    """

    task_id: TaskId
    run_id: RunId
    commit: str | None
    is_recorded: bool
    command: str


def find_interrupted_approval(workspace: Workspace) -> InterruptedApproval | None:
    """Return the approval that is incomplete and that no process is finishing; writes nothing."""
    note = load_pending_approval(workspace.paths)
    if note is None or approval_in_progress(workspace.paths) is not None:
        return None
    from git_blackbird.git.worktree.log import commit_of_run  # noqa: PLC0415  # hardly ever there is one

    oid = commit_of_run(workspace.repo, note.run_id, note.parent)
    run = workspace.store.records.history(note.task_id).find(note.run_id)
    is_pending = run is not None and run.is_pending
    if oid is None and not is_pending:
        return None
    again = task_command("decide", note.task_id, " --approve")
    command = again if is_pending and workspace.commits_approvals else EXECUTE
    return InterruptedApproval(note.task_id, note.run_id, oid, is_recorded=not is_pending, command=command)
