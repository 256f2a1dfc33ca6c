"""Find unresolved conflicts of a merge in a task's worktree."""

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.worktrees import workspace_of
from git_blackbird.git.change.both_added import paths_with_markers
from git_blackbird.git.change.merging import TreeMerge, merge_trees
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import base_tree, unmerged_paths
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.parts import ConflictMerge
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees


class _Conflicts(NamedTuple):
    """The merge that a task's worktree was brought to, and git's merge of its sides."""

    brought: ConflictMerge
    merge: TreeMerge


def unresolved_paths(
    workspace: Workspace, run: Run, change: Trees, only: Iterable[str] = ()
) -> tuple[bytes, ...]:
    """Return the conflicts of the last merge that a change of the run's task leaves unresolved.

    That is a file with markers of the merge; one that is as git left it, until somebody adds it to the index
    of the task's worktree; and one that git made under a name of its own for what was in the way, as long as
    it is there. With ``only`` those at these paths and below them; a name of git's own may be among them.
    Raises UnusableError, GitError.
    """
    left = {
        *paths_with_markers(workspace.repo, change),
        *_untouched_conflicts(workspace, run, change, set(only)),
    }
    return tuple(path for path in sorted(left) if not only or is_below(path, only))


def unresolved_text(paths: Iterable[bytes]) -> str | None:
    """Name the unresolved conflicts; None if there are none."""
    names = ", ".join(path.decode(errors="replace") for path in paths)
    return f"the conflict in {names} is not resolved" if names else None


def is_conflict_shown(workspace: Workspace, run: Run, change: Trees | None) -> bool:
    """Whether the task's worktree has the conflicts of this very change, so that landing it repeats them."""
    last, place = _last_merge(workspace, run), workspace_of(workspace, run)
    if last is None or place is None or base_tree(place.repo) != last.brought.merge.base:
        return False
    return last.brought.change == change and bool(last.merge.conflicts)


def is_below(path: bytes, names: Iterable[str]) -> bool:
    """Whether a path is among files and folders that were named."""
    return any(name == "." or (path + b"/").startswith(os.fsencode(name) + b"/") for name in names)


def _untouched_conflicts(workspace: Workspace, run: Run, change: Trees, named: set[str]) -> Iterator[bytes]:
    last = _last_merge(workspace, run)
    if last is None or last.brought.change == change or not last.merge.conflicts:
        return
    trees, place = TreeStore(workspace.repo), workspace_of(workspace, run)
    unmerged = last.merge.conflicts if place is None else unmerged_paths(place.repo)
    sides = (*last.brought.change, last.brought.merge.base)
    for path in last.merge.conflicts:
        entry = trees.entry(change.head, path)
        if entry is None:
            continue
        is_named_by_git = not any(trees.entry(tree, path) for tree in sides)
        is_untouched = path in unmerged and entry == trees.entry(last.merge.tree, path)
        if os.fsdecode(path) not in named if is_named_by_git else is_untouched:
            yield path


def _last_merge(workspace: Workspace, run: Run) -> _Conflicts | None:
    runs = Change.of(workspace.store.records.history(run.task_id)).runs
    brought = next((one.brought for one in reversed(runs) if one.brought is not None), None)
    if brought is None:
        return None
    change, now = brought.change, brought.merge.base
    (merge,) = merge_trees(workspace.repo, change.base, [(now, change.head)])
    return _Conflicts(brought, merge)
