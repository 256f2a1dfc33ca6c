"""Move submodules of the user's worktree to the commits that a change names."""

import os
from collections.abc import Iterator

from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.submodules.checkout import add_submodule, module_path, replace_submodule
from git_blackbird.git.submodules.inner import find_git_dir, head_of, repository_at
from git_blackbird.git.worktree.index import QUIET_OPTIONS
from git_blackbird.git.worktree.linked import owner_of
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.git.worktree.saved_trees import keep_commit
from git_blackbird.model.run.summary import Trees

_CHECKOUT_SECONDS = 600.0
_BY_HAND = "bring its commit over by hand"
_REPOSITORY = f"it is or was a repository of its own: {_BY_HAND}"
_NOT_THERE = f"its submodule is not checked out here: {_BY_HAND}"
_MOVED = "its submodule is at another commit"
_CHECKOUT = ("checkout", "--quiet", "--detach", "--no-overwrite-ignore", "--no-recurse-submodules")


def why_unmovable(
    repo: Repository, path: bytes, before: TreeEntry | None, after: TreeEntry | None
) -> str | None:
    """Return why the submodule at a path of a user's worktree cannot be moved to another commit, or None.

    Edits in it that git would overwrite are found when it is moved.
    """
    if before is None or after is None or {before.mode, after.mode} != {SUBMODULE}:
        return _REPOSITORY
    inner = _checked_out(repo, path)
    if inner is None:
        return _NOT_THERE
    if head_of(inner.git_dir) != before.oid:
        return _MOVED
    if after.oid not in TreeStore(inner):
        return f"your repository of its submodule has no commit {after.oid}"
    reasons = (why_unmovable(inner, *nested) for nested in _nested(inner, before, after))
    return next((f"in its submodule, {reason}" for reason in reasons if reason is not None), None)


def move_submodule(
    repo: Repository, path: bytes, before: TreeEntry | None, after: TreeEntry | None
) -> str | None:
    """Check out another commit of a submodule, and of those in it; return why it stays as it is, or None.

    Its HEAD is detached then, as by ``git submodule update``, and a reference has the commit that it was at.
    Edits that are not in the way stay. Raises UnusableError.
    """
    if owner_of(repo) is not None and {entry.mode for entry in (before, after) if entry} == {SUBMODULE}:
        commit = None if after is None else after.oid
        if before is None and commit is not None:
            return add_submodule(repo, os.fsdecode(path), commit)
        return replace_submodule(repo, os.fsdecode(path), commit)
    if (reason := why_unmovable(repo, path, before, after)) is not None:
        return reason
    inner = _checked_out(repo, path)
    if inner is None or before is None or after is None:
        return _NOT_THERE
    nested = list(_nested(inner, before, after))
    if not inner.git("for-each-ref", "--count=1", f"--contains={before.oid}").lines(list):
        keep_commit(inner, before.oid, before.oid)
    try:
        inner.git(*QUIET_OPTIONS, *_CHECKOUT, after.oid, timeout=_CHECKOUT_SECONDS)
    except GitError as error:
        return f"its submodule cannot be moved to {after.oid}: {error.message}"
    for each in nested:
        move_submodule(inner, *each)
    return None


def _checked_out(repo: Repository, path: bytes) -> Repository | None:
    """Return the repository of a submodule that is checked out as git does it."""
    top = repo.top / os.fsdecode(path)
    git_dir = find_git_dir(top)
    if git_dir is None or module_path(repo, git_dir) is None:
        return None
    return repository_at(repo, git_dir, top)


def _nested(
    inner: Repository, before: TreeEntry, after: TreeEntry
) -> Iterator[tuple[bytes, TreeEntry, TreeEntry]]:
    """Yield the submodules of a submodule whose commits differ between two commits of it."""
    pair = Trees(tree_of(inner, before.oid), tree_of(inner, after.oid))
    for path, (old, new) in submodule_sides(TreeStore(inner), pair):
        if old is not None and new is not None:
            yield path, old, new
