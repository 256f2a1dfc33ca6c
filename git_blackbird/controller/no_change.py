"""Whether a task's runs have changed anything since the task was last done."""

from git_blackbird.controller.outside_moves import own_legs
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.changes import compose
from git_blackbird.git.program import GitStoppedError
from git_blackbird.model.history import since_done
from git_blackbird.model.run import Run


def changed_nothing(workspace: Workspace, closed: Run) -> bool:
    """Return whether ``closed`` and the runs before it leave every file as it was; false where unknown.

    A run that finds the work done by an interrupted or failed one before it has not changed nothing.
    Raises GitStoppedError.
    """
    if closed.leg is None:
        return False
    history = workspace.store.records.history(closed.task_id)
    earlier = (run for run in since_done(history) if run.id != closed.id and run.leg is not None)
    runs = (*earlier, closed)
    if len(runs) == 1:
        return closed.leg.is_empty
    try:
        return compose(workspace.repo, own_legs(workspace, runs)).is_empty
    except GitStoppedError:
        raise
    except BlackbirdError:
        # Snapshots of earlier runs are gone: only this run is known.
        return closed.leg.is_empty
