"""The turns of landings that change the same paths."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.turns import runs_before
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees


def next_to_land(workspace: Workspace, state: PlanState, run: Run) -> TaskId | None:
    """Return the task that has to land before a run's change; None if the run's turn has come.

    A landing that has begun does not wait. Raises UnusableError.
    """
    before = () if run.moving is not None else tuple(runs_before(state, run))
    own = _paths(workspace, run) if before else frozenset()
    return next((one.task_id for one in before if not own.isdisjoint(_paths(workspace, one))), None)


def _paths(workspace: Workspace, run: Run) -> frozenset[bytes]:
    """Return the paths of a task's change; while an agent works on it, as it was when that began."""
    change, trees = run.change_elsewhere, TreeStore(workspace.repo)
    if change is None and run.worktree_base is not None and run.base_tree is not None:
        change = Trees(run.worktree_base, run.base_tree)
    if change is None or not all(tree in trees for tree in change):
        return frozenset()
    return frozenset(trees.changed_paths(*change))
