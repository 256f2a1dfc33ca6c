"""Whether a task's runs have changed anything since the task was last done."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.outside_moves import own_legs
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.git.worktree.changes import compose_change
from git_blackbird.model.entities.history import runs_in_change
from git_blackbird.model.entities.run import Run


def changed_nothing(workspace: Workspace, closed: Run) -> bool:
    """Return whether ``closed`` and the runs before it leave every file as it was; false where unknown.

    A run that finds the work done by an interrupted or failed one before it has not changed nothing.
    Raises GitStoppedError.
    """
    if closed.tree_pair is None:
        return False
    history = workspace.store.records.history(closed.task_id)
    earlier = (run for run in runs_in_change(history) if run.id != closed.id and run.tree_pair is not None)
    runs = (*earlier, closed)
    if len(runs) == 1:
        return closed.tree_pair.is_empty
    try:
        return compose_change(workspace.repo, own_legs(workspace, runs)).is_empty
    except GitStoppedError:
        raise
    except BlackbirdError:
        # Snapshots of earlier runs are gone: only this run is known.
        return closed.tree_pair.is_empty
