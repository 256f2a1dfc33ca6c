"""Find conflicts of changes in worktrees with one another, or with the user's worktree.

Loads pygit2, runs ``git merge-tree`` and takes snapshots: to be imported only by who asks for it.
"""

from collections.abc import Iterator
from itertools import combinations

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.place import Place, place_of
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.queries.status import Conflict
from git_blackbird.git.change.both_added import with_additions
from git_blackbird.git.change.merging import merge_trees
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.summary import Trees


def find_conflicts(workspace: Workspace, state: PlanState) -> Iterator[Conflict]:
    """Yield the conflicts of all changes that have not landed, as they are at this moment.

    Those that an earlier merge left and nobody has resolved are with the user's worktree.

    Raises GitTooOldError, GitError, SnapshotError.
    """
    found = dict(_changes(workspace, state))
    if not found:
        return
    now = snapshot(workspace).tree
    for task_id, (place, change) in found.items():
        own = sorted({*_conflicts(workspace, change, now), *place.conflicts(change)})
        if own:
            yield Conflict(task_id, None, tuple(path.decode(errors="replace") for path in own))
    changes = {task_id: change for task_id, (_, change) in found.items()}
    for (first, one), (second, other) in combinations(changes.items(), 2):
        if paths := _conflicts(workspace, other, one.head):
            yield Conflict(first, second, tuple(path.decode(errors="replace") for path in paths))


def _conflicts(workspace: Workspace, change: Trees, tree: str) -> tuple[bytes, ...]:
    (merge,) = merge_trees(workspace.repo, change.base, [(tree, change.head)])
    return with_additions(workspace.repo, merge).conflicts


def _changes(workspace: Workspace, state: PlanState) -> Iterator[tuple[TaskId, tuple[Place, Trees]]]:
    trees = TreeStore(workspace.repo)
    for task, run in state.open_runs:
        place = place_of(workspace, run)
        change = place.unlanded_change()
        if change is not None and change.base in trees and change.head in trees:
            yield task.id, (place, change)
