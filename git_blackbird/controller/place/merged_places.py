"""The merge of a task's change with the user's worktree, with its conflicts, in the task's worktree."""

from git_blackbird.controller.core.status_sync import update_run
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot_with_ignored
from git_blackbird.git.change.merging import merge_trees
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import base_tree, move_base, write_commit
from git_blackbird.git.writing.write_back import take_signatures, write_all_paths
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.run.parts import Brought
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees


def bring_merge(workspace: Workspace, run: Run, linked: Repository, base: str) -> Run:
    """Bring a task's worktree to the merge of its change with the user's worktree ``base``.

    Files that somebody edited since the run stay as they are. HEAD comes last, so that it can be repeated.
    Return the record with that merge. Raises SnapshotError, WriteBackError, SaveError, GitError.
    """
    change = run.change_elsewhere
    if change is None or base_tree(linked) == base:
        return run
    # By the attributes in the user's worktree, as it is merged there.
    (merge,) = merge_trees(workspace.repo, change.base, [(base, change.head)])
    earlier = () if run.brought is None else (run.brought.merge.head,)
    known = [change.head, run.head_tree or change.head, *earlier]
    trees = TreeStore(linked)
    paths = frozenset[bytes]().union(*(trees.changed_paths(tree, merge.tree) for tree in known))
    expected = take_signatures(linked, paths)
    sides = [Trees(tree, merge.tree) for tree in known]
    now, unknown = snapshot_with_ignored(workspace.in_worktree(linked), sides, expected, change.head)
    untouched = [
        path
        for path in expected.keys() - unknown.keys()
        if trees.entry(now, path) in {trees.entry(tree, path) for tree in (*known, merge.tree)}
    ]
    wanted = trees.edited(now, {path: trees.entry(merge.tree, path) for path in untouched})
    brought = Brought(change=change, merge=Trees(base, merge.tree))
    run = update_run(workspace, run, lambda stored: stored.bringing(brought))
    seconds = float(workspace.config.snapshot.timeout_seconds)
    write_all_paths(linked, now, wanted, expected, timeout_seconds=seconds)
    move_base(linked, base_commit(workspace, run.task_id, base), merge.unmerged)
    return run


def merge_in_worktree(run: Run, linked: Repository) -> Trees | None:
    """Return the merge that the worktree of a run was brought to, with its base; None without one."""
    brought = run.brought
    return brought.merge if brought is not None and base_tree(linked) == brought.merge.base else None


def base_commit(workspace: Workspace, task_id: TaskId, tree: str) -> str:
    """Write the commit that the worktree of a task stands on. Raises UnusableError."""
    at = head(workspace.repo).commit
    parents = () if at is None else (at,)
    message = f"The files that {task_id} begins with\n"
    return write_commit(workspace.repo, tree, parents, message, workspace.environment.now() // SECOND)
