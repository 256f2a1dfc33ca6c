"""The merge of a task's change with the user's worktree, with its conflicts, in the task's worktree."""

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import look_at
from git_blackbird.git.core.repository import Repository, head
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.linked import base_tree, commit_of, move_base
from git_blackbird.git.worktree.merging import merge_trees
from git_blackbird.git.worktree.saved_trees import load_run_ref, save_run_ref
from git_blackbird.git.worktree.write_back import take_signatures, write_all_paths
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees

_SECOND = 1_000_000_000


def bring_merge(workspace: Workspace, run: Run, linked: Repository, base: str) -> None:
    """Bring a task's worktree to the merge of its change with the user's worktree ``base``.

    Files that somebody edited since the run stay as they are. HEAD comes last, so that it can be repeated.
    Raises SnapshotError, WriteBackError, GitError.
    """
    change = run.change_elsewhere
    if change is None or base_tree(linked) == base:
        return
    # By the attributes in the user's worktree, as it is merged there.
    (merge,) = merge_trees(workspace.repo, change.base, [(base, change.head)])
    earlier = load_run_ref(linked, run.id, "landing-merge")
    known = [change.head, run.head_tree or change.head, *(() if earlier is None else (earlier.head,))]
    trees = TreeStore(linked)
    paths = frozenset[bytes]().union(*(trees.changed_paths(tree, merge.tree) for tree in known))
    expected = take_signatures(linked, paths)
    sides = [Trees(tree, merge.tree) for tree in known]
    now, unknown = look_at(workspace.working_in(linked), sides, expected, change.head)
    untouched = [
        path
        for path in expected.keys() - unknown.keys()
        if trees.entry(now, path) in {trees.entry(tree, path) for tree in (*known, merge.tree)}
    ]
    wanted = trees.edited(now, {path: trees.entry(merge.tree, path) for path in untouched})
    save_run_ref(workspace.repo, run.id, *change, "landing-change")
    save_run_ref(workspace.repo, run.id, base, merge.tree, "landing-merge")
    seconds = float(workspace.config.snapshot.timeout_seconds)
    write_all_paths(linked, now, wanted, expected, timeout_seconds=seconds)
    move_base(linked, base_commit(workspace, run.task_id, base), merge.unmerged)


def merge_in(run: Run, linked: Repository) -> Trees | None:
    """Return the merge that the worktree of a run was brought to, with its base; None without one."""
    merged = load_run_ref(linked, run.id, "landing-merge")
    return merged if merged is not None and base_tree(linked) == merged.base else None


def base_commit(workspace: Workspace, task_id: TaskId, tree: str) -> str:
    """Write the commit that the worktree of a task stands on. Raises UnusableError."""
    at = head(workspace.repo).commit
    parents = () if at is None else (at,)
    message = f"The files that {task_id} begins with\n"
    return commit_of(workspace.repo, tree, parents, message, workspace.environment.now() // _SECOND)
