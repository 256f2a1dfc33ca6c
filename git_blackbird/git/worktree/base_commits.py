"""Commits of this program on no branch, and the commits that worktrees of tasks begin with or continue."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.git.core.output import object_ids, paths_listed
from git_blackbird.git.core.process import nul_ended, operands, revisions
from git_blackbird.git.core.repository import Repository, head, open_libgit2, using_objects
from git_blackbird.git.core.trees import OURS, TreeStore
from git_blackbird.git.worktree.index import QUIET_OPTIONS
from git_blackbird.git.worktree.log import log_size, moves_in
from git_blackbird.model.base.ids import object_id_fault
from git_blackbird.model.run.commits import LogSpan

if TYPE_CHECKING:
    import pygit2

    from git_blackbird.model.run.summary import Trees

_NAME, _EMAIL = "git-blackbird", "git-blackbird@localhost"
_BASE = "base"


def write_commit(repo: Repository, tree: str, parents: Sequence[str], message: str, at: int) -> str:
    """Write a commit on no branch in our name, at seconds since 1970; return its id. Raises UnusableError."""
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load

    objects = open_libgit2(repo)
    with using_objects(repo):
        author = pygit2.Signature(_NAME, _EMAIL, at, 0)
        return str(objects.create_commit(None, author, author, message, tree, list(parents)))


def is_our_commit(objects: "pygit2.Repository", commit: str) -> bool:
    """Whether ``write_commit`` made a commit. A missing commit counts as one, so that it is not reported."""
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    try:
        return bool(objects[commit].peel(pygit2.Commit).committer.email == _EMAIL)
    except KeyError:
        return True
    except pygit2.InvalidSpecError:  # no commit
        return False


def stray_commits(linked: Repository) -> list[str]:
    """Return the commits that a worktree's HEAD is or was at and that ``write_commit`` has not made."""
    at, log = head(linked).commit, LogSpan(0, log_size(linked.git_dir), None)
    named = dict.fromkeys([*(move.new for move in moves_in(linked, log)), *filter(None, [at])])
    objects = open_libgit2(linked)
    with using_objects(linked):
        return [commit for commit in named if commit in objects and not is_our_commit(objects, commit)]


def note_base(linked: Repository, commit: str) -> None:
    (linked.private_dir / _BASE).write_text(commit)


def base_commit_of(linked: Repository) -> str | None:
    """Return the commit that a task's worktree began with, wherever its HEAD is; None if that is gone."""
    with contextlib.suppress(OSError):
        commit = (linked.private_dir / _BASE).read_text(encoding="ascii", errors="replace")
        return commit if object_id_fault(commit) is None and commit in TreeStore(linked) else None
    return None


def base_tree(linked: Repository) -> str | None:
    """Return the tree of the commit that a task's worktree began with, or None."""
    commit = base_commit_of(linked)
    return None if commit is None else str(_read(linked, commit).tree_id)


def unmerged_paths(linked: Repository) -> frozenset[bytes]:
    """Return the paths that the index of a worktree has in conflict. Raises GitError."""
    return frozenset(linked.git("ls-files", "-u", "-z").records(paths_listed))


def move_base(linked: Repository, commit: str, unmerged: Sequence[bytes]) -> None:
    """Move HEAD and the index of a task's worktree to a commit, detached, and leave its files alone.

    ``unmerged`` are lines for the paths in conflict, as ``git update-index --index-info`` reads them.
    Raises GitError.
    """
    linked.git(*QUIET_OPTIONS, "read-tree", "--reset", *revisions(commit))
    if unmerged:
        gone = b"".join(b"0 %s\t%s\0" % (b"0" * 40, line.partition(b"\t")[2]) for line in unmerged)
        linked.git(*QUIET_OPTIONS, "update-index", "-z", "--index-info", stdin=gone + nul_ended(unmerged))
    linked.git("update-ref", "--no-deref", "-m", "new base", "HEAD", *revisions(commit))
    note_base(linked, commit)


_FIRST_PARENTS = ("rev-list", "--first-parent")
_NOT_REMOTE = ("--not", "--remotes", "--not")


class CommitDiff(NamedTuple):
    """The change of a commit to its first parent; without one, to a tree without files."""

    parent: str | None
    pair: "Trees"


def find_fork_point(linked: Repository, base: str, began: int) -> str | None:
    """Return the newest commit below a worktree's HEAD that no agent made there.

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
    if made:
        old, new = _read(linked, base), _read(linked, made[-1])
        if (new.author, new.parent_ids) == (old.author, old.parent_ids):  # amended
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


def _parent(linked: Repository, commit: str) -> str | None:
    return next(map(str, _read(linked, commit).parent_ids), None)


def _read(repo: Repository, commit: str) -> "pygit2.Commit":
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    with using_objects(repo):
        return open_libgit2(repo)[commit].peel(pygit2.Commit)


def commit_diff(repo: Repository, commit: str) -> CommitDiff:
    """Return the change of a commit, without what is ours at the top. Raises UnusableError."""
    from git_blackbird.model.run.summary import Trees  # not in the process that makes commits

    trees, found = TreeStore(repo), _read(repo, commit)
    parent = _parent(repo, commit)
    before = trees.save({}) if parent is None else str(_read(repo, parent).tree_id)
    base, head_tree = (trees.without(tree, OURS) for tree in (before, str(found.tree_id)))
    return CommitDiff(parent, Trees(base, head_tree))
