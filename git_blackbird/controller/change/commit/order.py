"""Order the commits of several undecided changes that have files in common.

At each path the task whose run touched it first comes first. Changes that each come first at some path can
only be committed together.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import own_commits
from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import changed_paths, compose
from git_blackbird.git.commit.plan import ChangeOrigin, CommitPlan, plan_commit
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import contributions
from git_blackbird.model.rules.queue import pending_decisions
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run


def origin_of(workspace: Workspace, state: PlanState, runs: Sequence[Run]) -> ChangeOrigin:
    """Return HEAD when the change of these runs began, their commits, and the trees of all later runs."""
    if not runs:
        return ChangeOrigin()
    later = (run for history in state.histories.values() for run in history.since(runs[0]))
    run_trees = (run.change_in_place for run in (runs[0], *sorted(later, key=lambda run: run.sort_key)))
    own = frozenset[str]().union(*(own_commits(workspace, run) for run in runs))
    return ChangeOrigin(runs[0].start_commit, own, tuple(pair for pair in run_trees if pair is not None))


def undecided_before(
    workspace: Workspace, state: PlanState, task_id: TaskId, paths: Iterable[bytes]
) -> dict[bytes, TaskId]:
    """Return the paths that undecided changes touched before this task's, each with the first such task."""
    own, first = _first_touches(workspace, state, task_id), dict[bytes, tuple[tuple[int, str], TaskId]]()
    for due in pending_decisions(state):
        for path, touched in _first_touches(workspace, state, due.task.id).items():
            if due.task.id != task_id and path in own and touched < own[path]:
                first[path] = min(first.get(path, (touched, due.task.id)), (touched, due.task.id))
    return {path: first[path][1] for path in paths if path in first}


def uncommitted_before(workspace: Workspace, state: PlanState, paths: Iterable[bytes]) -> dict[bytes, TaskId]:
    """Return the paths of landed changes that could not be committed, each with the first such task."""
    found: dict[bytes, TaskId] = {}
    runs = (history.latest for history in state.histories.values())
    waiting = (run for run in runs if run is not None and run.uncommitted_landing is not None)
    for run in sorted(waiting, key=lambda run: run.landed_at or ""):
        # Its trees may be gone.
        with suppress(UnusableError):
            touched = () if run.landing_pair is None else changed_paths(workspace.repo, run.landing_pair)
            found = dict.fromkeys(touched, run.task_id) | found
    return {path: found[path] for path in paths if path in found}


def tasks_waiting_mutually(
    workspace: Workspace, state: PlanState, worktree: str, task_id: TaskId
) -> Mapping[TaskId, tuple[bytes, ...]]:
    """Return the tasks in the way of this one that wait for each other's decision.

    Each comes with the paths because of which it waits.
    """
    waits: dict[TaskId, dict[bytes, TaskId]] = {}
    pending = [task_id]
    while pending:
        current = pending.pop()
        if current not in waits:
            waits[current] = {}
            # The trees of another task's runs may be gone.
            with suppress(UnusableError):
                edited = _commit_plan_of(workspace, state, worktree, current).edited_before
                waits[current] = undecided_before(workspace, state, current, edited)
            pending += waits[current].values()
    try:
        TopologicalSorter({task: others.values() for task, others in waits.items()}).prepare()
    except CycleError as error:
        return {task: tuple(waits[task]) for task in sorted(set(error.args[1]))}
    return {}


def _commit_plan_of(workspace: Workspace, state: PlanState, worktree: str, task_id: TaskId) -> CommitPlan:
    runs = workspace.runs_to_decide(state.history(task_id))
    pair = compose(workspace.repo, contributions(runs))
    return plan_commit(workspace.repo, pair, worktree, origin_of(workspace, state, runs))


def _first_touches(workspace: Workspace, state: PlanState, task_id: TaskId) -> dict[bytes, tuple[int, str]]:
    """Return when the undecided runs of a task first touched each path, as far as their trees are there."""
    touches: dict[bytes, tuple[int, str]] = {}
    for run in workspace.runs_to_decide(state.history(task_id)):
        if run.change_in_place is not None:
            with suppress(UnusableError):
                for path in changed_paths(workspace.repo, run.change_in_place):
                    touches.setdefault(path, run.sort_key)
    return touches
