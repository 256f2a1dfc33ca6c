"""Check out submodules in a task's worktree, and move those of any to the commits that a change names."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.core.process import GitError, operands, revisions, run_git
from git_blackbird.git.core.repository import Repository, open_fresh_libgit2, using_objects
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.submodules.edits import (
    MODULES,
    keep_commits,
    nested_repositories,
    new_commits,
    submodule_commits,
    uncommitted,
)
from git_blackbird.git.submodules.inner import find_git_dir, head_of, repository_at
from git_blackbird.git.worktree.index import QUIET_OPTIONS, writing
from git_blackbird.git.worktree.linked import check_out, home_repository, is_taken, owner_of
from git_blackbird.git.worktree.log import tree_of
from git_blackbird.git.worktree.saved_trees import checkout_tree, keep_commit
from git_blackbird.git.worktree.snapshot import SnapshotLimits
from git_blackbird.model.base.system import describe
from git_blackbird.model.run.summary import Trees

# Histories and files may be large.
_SECONDS = 600.0
_URL = "remote.origin.url"


def check_out_submodules(
    home: Repository, linked: Repository, moved: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Check out the submodules of the user's worktree in a new one, from the user's own repositories.

    Submodules that are ``moved`` are checked out at that commit, others at that of the index. Their objects
    are hard links where the file system can. Return those that could not be checked out, each with the
    reason; their folders are empty. Raises GitError.
    """
    failed = dict[str, str]()
    if not (home.top / ".gitmodules").exists():
        return failed
    for path, commit in {**submodule_commits(linked), **moved}.items():
        source = find_git_dir(home.top / path)
        name = None if source is None else module_path(home, source)
        if source is None or name is None or find_git_dir(linked.top / path) is not None:
            continue
        inner = repository_at(linked, linked.git_dir / MODULES / name, linked.top / path)
        try:
            _clone(source, inner, commit)
        except (UnusableError, OSError) as error:
            failed[path] = describe(error)
            shutil.rmtree(inner.git_dir, ignore_errors=True)
            shutil.rmtree(inner.top, ignore_errors=True)
            inner.top.mkdir(exist_ok=True)
        else:
            below = check_out_submodules(repository_at(home, source, home.top / path), inner)
            failed.update((f"{path}/{nested}", reason) for nested, reason in below.items())
    return failed


def check_out_whole(home: Repository, tree: str, folder: Path, *, timeout_seconds: float) -> None:
    """Write the files of a tree into an empty folder, and those of the submodules that the user's has.

    One whose commit the user's repository of it does not have is an empty folder. Each is given
    ``timeout_seconds``. Raises CheckoutError, GitError.
    """
    checkout_tree(home, tree, folder, timeout_seconds=timeout_seconds)
    if not (folder / ".gitmodules").exists():
        return
    trees = TreeStore(home)
    for path, (_, entry) in submodule_sides(trees, Trees(trees.save({}), tree)):
        place = os.fsdecode(path)
        source = find_git_dir(home.top / place)
        if entry is None or source is None or module_path(home, source) is None:
            continue
        inner = repository_at(home, source, home.top / place)
        if entry.oid in TreeStore(inner):
            commit = tree_of(inner, entry.oid)
            check_out_whole(inner, commit, folder / place, timeout_seconds=timeout_seconds)


def module_path(home: Repository, git_dir: Path) -> Path | None:
    """Return the path below ``modules`` of a submodule's git directory; None if it is elsewhere."""
    folders = (Path(os.path.realpath(each)) / MODULES for each in (home.git_dir, home.common_dir))
    return next((git_dir.relative_to(each) for each in folders if git_dir.is_relative_to(each)), None)


def _clone(source: Path, inner: Repository, commit: str) -> None:
    options = ("--quiet", "--no-checkout", "--template=", f"--separate-git-dir={inner.git_dir}")
    inner.git_dir.parent.mkdir(parents=True, exist_ok=True)
    command = ("clone", *options, *operands(os.fspath(source), os.fspath(inner.top)))
    run_git(command, cwd=inner.top, environ=inner.git_environ, timeout=_SECONDS)
    with using_objects(inner):
        config = open_fresh_libgit2(source).config
        if _URL in config:
            open_fresh_libgit2(inner.git_dir).remotes.set_url("origin", config[_URL] or "")
    inner.git("update-ref", "--no-deref", "HEAD", *revisions(commit))
    check_out(inner, "HEAD")


def add_submodule(linked: Repository, path: str, commit: str) -> str | None:
    """Check out a submodule that a task's worktree has not; an empty folder where the user has none.

    Return why it cannot be there, or None. Raises UnusableError, OSError.
    """
    top, home = linked.top / path, home_repository(linked)
    if is_taken(top):
        return "something else is in the place of its submodule"
    top.mkdir(parents=True, exist_ok=True)
    return None if home is None else check_out_submodules(home, linked, {path: commit}).get(path)


def replace_submodule(linked: Repository, path: str, commit: str | None) -> str | None:
    """Check out another commit of a submodule of a task's worktree, of which the user's repository has it.

    What is committed there is brought to the user's repository, and the submodule is made anew: git would
    run what an agent has configured. It is removed if ``commit`` is None. Return why it stays as it is, or
    None. Raises UnusableError, OSError.
    """
    top = linked.top / path
    git_dir, home = find_git_dir(top), home_repository(linked)
    if git_dir is None:
        # An empty folder is at any commit.
        with contextlib.suppress(FileNotFoundError):
            top.rmdir() if commit is None else None
        return None
    if home is None or not git_dir.is_relative_to(os.path.realpath(linked.git_dir / MODULES)):
        return "it is a repository of its own"
    if path in uncommitted(linked, SnapshotLimits()):
        return "something in its submodule is in no commit"
    try:
        if any(nested_repositories(linked, top, SnapshotLimits())):
            return "a repository of its own is in it"
        for new in new_commits(linked, home):
            keep_commits(linked, new)
    except RequestError as error:
        return error.message
    with writing(top):
        shutil.rmtree(git_dir)
        shutil.rmtree(top)
    return None if commit is None else add_submodule(linked, path, commit)


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
        inner.git(*QUIET_OPTIONS, *_CHECKOUT, after.oid, timeout=_SECONDS)
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
