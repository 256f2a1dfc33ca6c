"""Find the commit that a task's worktree continues from: the one that it began with, or an older one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.git.core.output import object_ids
from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository, head, open_libgit2, using_objects
from git_blackbird.git.core.trees import TreeStore

if TYPE_CHECKING:
    import pygit2

_FIRST_PARENTS = ("rev-list", "--first-parent")
_NOT_REMOTE = ("--not", "--remotes", "--not")


class CommitTrees(NamedTuple):
    """The tree of a commit, and of its first parent: one without files if it has none."""

    tree: str
    before: str


def find_fork_point(linked: Repository, base: str, began: int) -> str | None:
    """Return the newest commit that a worktree's files continue from and that no agent made there.

    That is ``base``, the commit that the worktree began with, as long as it is below HEAD, or was amended.
    Else the agent went to another commit: to one from before ``began``, in seconds since 1970, or to one that
    is on a branch of a remote. None if the history there is all new. Raises GitError.
    """
    at = head(linked).commit
    if at is None or at == base:
        return at
    if linked.git("merge-base", "--is-ancestor", *revisions(base, at), check=False).code == 0:
        return base
    made = _made_on(linked, at, [base])
    if made and _is_amended(linked, base, made[-1]):
        return base
    older = linked.git(*_FIRST_PARENTS, "-1", f"--min-age={began - 1}", *revisions(at), *operands())
    made = _made_on(linked, at, [base, *older.lines(object_ids)])
    return _parent(linked, made[-1]) if made else at


def begins_at(repo: Repository, commit: str, base: str) -> bool:
    """Whether a commit is ``base`` or made on it. Raises UnusableError."""
    with using_objects(repo):
        return commit == base or bool(open_libgit2(repo).descendant_of(commit, base))


def _made_on(linked: Repository, at: str, known: Sequence[str]) -> list[str]:
    """Return a commit and its first parents, as far as they are not ``known`` and on no remote."""
    excluded = (f"^{commit}" for commit in known)
    listed = linked.git(*_FIRST_PARENTS, *_NOT_REMOTE, *revisions(at, *excluded), *operands())
    return listed.lines(object_ids)


def _is_amended(linked: Repository, before: str, after: str) -> bool:
    old, new = _read(linked, before), _read(linked, after)
    return (new.author, new.parent_ids) == (old.author, old.parent_ids)


def _parent(linked: Repository, commit: str) -> str | None:
    return next(map(str, _read(linked, commit).parent_ids), None)


def _read(repo: Repository, commit: str) -> "pygit2.Commit":
    import pygit2  # loaded by now

    with using_objects(repo):
        return open_libgit2(repo)[commit].peel(pygit2.Commit)


def read_commit_trees(repo: Repository, commit: str, hidden: Sequence[str]) -> CommitTrees:
    """Return the trees of a commit and of what it was made on, without these names at their top.

    Raises UnusableError.
    """
    trees, found, names = TreeStore(repo), _read(repo, commit), [name.encode() for name in hidden]
    parent = _parent(repo, commit)
    before = trees.save({}) if parent is None else str(_read(repo, parent).tree_id)
    return CommitTrees(trees.without(str(found.tree_id), names), trees.without(before, names))
