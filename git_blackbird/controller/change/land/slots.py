"""Slots of landings: what was sent back with a conflict lands before what would conflict with it then."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason
from git_blackbird.model.run.summary import Trees


def next_to_land(workspace: Workspace, state: PlanState, run: Run) -> TaskId | None:
    """Return the task that has to land before a run's change; None if nothing is in front of it.

    Tasks that change the same paths land in the order in which they were first sent back. A landing that has
    begun does not wait. Raises UnusableError.
    """
    if run.moving is not None:
        return None
    own = _order(run)
    holders = (one for _, one in state.open_runs if one.task_id != run.task_id and _has_slot(one))
    before = sorted((one for one in holders if _order(one) < own), key=_order)
    paths = _paths(workspace, run) if before else frozenset()
    return next((one.task_id for one in before if not paths.isdisjoint(_paths(workspace, one))), None)


def _has_slot(run: Run) -> bool:
    is_lost = run.terminal_reason is TerminalReason.WORKER_LOST and run.status is RunStatus.PAUSED
    return run.landing_slot is not None and isinstance(run.landing, LandingDue | None) and not is_lost


def _order(run: Run) -> tuple[bool, str, TaskId]:
    return run.landing_slot is None, run.landing_slot or "", run.task_id


def _paths(workspace: Workspace, run: Run) -> frozenset[bytes]:
    """Return the paths of a task's change; while an agent works on it, as it was when that began."""
    change, trees = run.change_elsewhere, TreeStore(workspace.repo)
    if change is None and run.worktree_base is not None and run.base_tree is not None:
        change = Trees(run.worktree_base, run.base_tree)
    if change is None or not all(tree in trees for tree in change):
        return frozenset()
    return frozenset(trees.changed_paths(*change))
