"""Edits that a person made in a task's own worktree after its run."""

from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import merge_in_worktree, workspace_of
from git_blackbird.git.change.changes import changed_paths
from git_blackbird.git.worktree.base_commits import unmerged_paths
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees


class TaskEdits(NamedTuple):
    """The change of a task with what a person edited in its worktree since, at these paths."""

    pair: Trees
    paths: tuple[str, ...]


def find_edits(workspace: Workspace, run: Run) -> TaskEdits | None:
    """Return the edits in the worktree of a run since; None if there are none, or it has landed.

    A conflict that was resolved there without another word, as by ``git add``, counts as an edit.
    Raises SnapshotError, GitError.
    """
    change = run.change_elsewhere
    place = None if change is None or run.has_landed else workspace_of(workspace, run)
    if change is None or place is None:
        return None
    tree = snapshot(place, since=run.head_tree).tree
    merged = merge_in_worktree(run, place.repo)
    if merged is None:
        if tree in {run.head_tree, change.head} or run.worktree_base is None or run.head_tree is None:
            return None
        return _edits(workspace, Trees(run.worktree_base, tree), run.head_tree)
    pair = Trees(merged.base, tree)
    if pair == change:
        return None
    is_untouched = tree == merged.head and bool(unmerged_paths(place.repo))
    return None if is_untouched else _edits(workspace, pair, merged.head)


def _edits(workspace: Workspace, pair: Trees, known: str) -> TaskEdits:
    paths = sorted(changed_paths(workspace.repo, Trees(known, pair.head)))
    return TaskEdits(pair, tuple(path.decode(errors="replace") for path in paths))
