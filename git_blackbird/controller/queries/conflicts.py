"""Find conflicts of changes in worktrees with one another, or with the user's worktree.

Loads pygit2, runs ``git merge-tree`` and takes snapshots: to be imported only by who asks for it.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.unresolved import unresolved_paths
from git_blackbird.controller.place.worktrees import place_of
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.both_added import with_additions
from git_blackbird.git.worktree.merging import merge_trees
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus
from git_blackbird.model.run.summary import Trees


class Conflict(NamedTuple):
    """Paths in which a change conflicts with another task's; with the user's worktree if that is None."""

    task_id: TaskId
    other: TaskId | None
    paths: tuple[str, ...]


def find_conflicts(workspace: Workspace, state: PlanState) -> Iterator[Conflict]:
    """Yield the conflicts of all changes that have not landed, as they are at this moment.

    Those that an earlier merge left and nobody has resolved are with the user's worktree.

    Raises GitTooOldError, GitError, SnapshotError.
    """
    found = dict(_changes(workspace, state))
    if not found:
        return
    now = snapshot(workspace).tree
    for task_id, (run, change) in found.items():
        own = sorted({*_conflicts(workspace, change, now), *unresolved_paths(workspace, run, change)})
        if own:
            yield Conflict(task_id, None, tuple(path.decode(errors="replace") for path in own))
    changes = {task_id: change for task_id, (_, change) in found.items()}
    for (first, one), (second, other) in combinations(changes.items(), 2):
        if paths := _conflicts(workspace, other, one.head):
            yield Conflict(first, second, tuple(path.decode(errors="replace") for path in paths))


def _conflicts(workspace: Workspace, change: Trees, tree: str) -> tuple[bytes, ...]:
    (merge,) = merge_trees(workspace.repo, change.base, [(tree, change.head)])
    return with_additions(workspace.repo, merge).conflicts


def _changes(workspace: Workspace, state: PlanState) -> Iterator[tuple[TaskId, tuple[Run, Trees]]]:
    trees = TreeStore(workspace.repo)
    for task, run in state.open_runs:
        change = _change(workspace, run)
        if change is not None and change.base in trees and change.head in trees:
            yield task.id, (run, change)


def _change(workspace: Workspace, run: Run) -> Trees | None:
    """Return what a task has changed so far in a worktree of its own."""
    base, place = run.worktree_base or run.base_tree, place_of(workspace, run)
    if run.is_in_place or base is None:
        return None
    if run.status is not RunStatus.RUNNING or place is None:
        return run.change_elsewhere
    return Trees(base, snapshot(place, since=base).tree)
