"""Linked worktrees for one task each."""

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import RequestError, UnusableError
from git_blackbird.git.core.process import deferring_stop, operands
from git_blackbird.git.core.repository import (
    Repository,
    head,
    listed_worktrees,
    open_libgit2,
    other_worktrees,
    using_objects,
)
from git_blackbird.git.core.trees import TreeStore
from git_blackbird.git.worktree.base_commits import note_base, write_commit
from git_blackbird.git.worktree.folders import remove_tree
from git_blackbird.git.worktree.index import QUIET_OPTIONS, private_folder, writing
from git_blackbird.model.base.system import make_own_folder

_OWNER = "task"
_BEGUN = "checkout-begun"
_SET_ASIDE = "set-aside"
_KEYS = "git-crypt"
# Files may be large; git says itself what takes long.
_CHECKOUT_SECONDS = 600.0
# Git reads the folders of all worktrees when it adds or removes one, also of one that is half made.
_changing_list = threading.Lock()
_WAY_OUT = "move it away, or set worktree.dir"


class TaskWorktree(NamedTuple):
    """The linked worktree of a task, and where it was made: somebody may have moved it since.

    One that is set aside has something that cannot be kept otherwise; the task has another.
    """

    task_id: str
    repo: Repository
    made_at: Path
    is_set_aside: bool = False


def add_worktree(repo: Repository, folder: Path, commit: str) -> Repository:
    """Add a linked worktree at a new or empty folder, with a detached HEAD at a commit. Raises GitError."""
    linked = _add_empty(repo, folder, commit)
    check_out(linked, "HEAD")
    return linked


def add_task_worktree(repo: Repository, task_id: str, folder: Path) -> Repository:
    """Add the worktree of a task, without files yet. Raises RequestError where it is taken, UnusableError."""
    if is_taken(folder):
        raise RequestError(f"{folder} is in the place of the worktree of {task_id}", hint=_WAY_OUT)
    return _add_empty(repo, folder, _empty_commit(repo), task_id)


def is_taken(folder: Path) -> bool:
    """Return whether a folder is in use: it exists and is not empty."""
    return os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir()))


def is_place_free(repo: Repository, folder: Path) -> bool:
    """Whether a worktree can be made at a folder: nothing is there, and git knows none there that is gone."""
    return not is_taken(folder) and all(linked.top != folder for linked in listed_worktrees(repo))


def set_aside(linked: Repository) -> None:
    """Keep the worktree of a task as it is: the task gets another one."""
    with writing(linked.private_dir):
        (linked.private_dir / _SET_ASIDE).touch()


def begin_checkout(linked: Repository, commit: str) -> None:
    """Check out the commit that the worktree of a task begins with. Raises GitError."""
    (linked.private_dir / _BEGUN).write_text(commit)
    note_base(linked, commit)
    check_out(linked, commit)


def end_checkout(linked: Repository) -> None:
    (linked.private_dir / _BEGUN).unlink()


def is_checkout_incomplete(linked: Repository) -> bool:
    """Whether a killed command left the files of a task's worktree incomplete."""
    return (linked.private_dir / _BEGUN).exists()


def incomplete_tree(linked: Repository) -> str:
    """Return the tree of an incomplete checkout; an empty one if it had not begun."""
    from git_blackbird.git.core.libgit2 import pygit2  # slow to load

    begun = (linked.private_dir / _BEGUN).read_text()
    objects = open_libgit2(linked)
    with using_objects(linked):
        return str(objects[begun].peel(pygit2.Tree).id) if begun else TreeStore(linked).save({})


def _add_empty(repo: Repository, folder: Path, commit: str, task_id: str | None = None) -> Repository:
    options = ("worktree", "add", "--detach", "--no-checkout", "--quiet")
    # One that is half added is in the way of other git commands, until it is pruned.
    with deferring_stop(), _changing_list:
        repo.git(*QUIET_OPTIONS, *options, *operands(str(folder), commit))
        linked = open_linked(repo, folder)
        if linked is None:
            raise UnusableError(f"git has made no worktree at {folder}")
        if task_id is not None:
            make_own_folder(linked.private_dir)
            (linked.private_dir / _BEGUN).touch()
            owner = f"{task_id}\n{_home_name(repo)}\n{linked.top}"
            (linked.private_dir / _OWNER).write_text(owner, encoding="utf-8", errors="surrogateescape")
    # git-crypt looks for its keys in the git directory of the worktree alone.
    places = (folder / _KEYS for folder in (repo.git_dir, repo.common_dir))
    keys = next((place for place in places if place.is_dir()), None)
    if keys is not None:
        with writing(linked.git_dir):
            (linked.git_dir / _KEYS).symlink_to(os.path.relpath(keys, linked.git_dir))
    return linked


def check_out(linked: Repository, commit: str) -> None:
    """Check out HEAD or a commit as ``git worktree add`` does, beside other checkouts. Raises GitError."""
    options = ("reset", "--hard", "--no-recurse-submodules", "--quiet")
    linked.git(*QUIET_OPTIONS, *options, commit, timeout=_CHECKOUT_SECONDS)


def remove_half_added(repo: Repository, above: Path) -> None:
    """Remove worktrees that were not added in full; none may be added meanwhile. Raises UnusableError."""
    for linked in list(half_added_worktrees(repo, above)):
        with _changing_list:
            with contextlib.suppress(OSError):  # others are in it
                (linked.top / ".git").unlink(missing_ok=True)
                linked.top.rmdir()
            _forget(repo, linked)


def half_added_worktrees(repo: Repository, above: Path) -> Iterator[Repository]:
    """Yield the worktrees below a folder that git, or we, were killed in adding: they have no files yet."""
    for linked in listed_worktrees(repo):
        if linked.top.parent == above and owner_of(linked) is None:
            # Git's own lock is there while it adds one.
            locked = linked.git_dir / "locked"
            is_begun = locked.exists() and locked.read_bytes().strip() == b"initializing"
            if is_begun or head(linked).commit == _empty_commit(repo):
                yield linked


def _empty_commit(repo: Repository) -> str:
    """Write the commit that the worktree of a task is at before anything is checked out."""
    return write_commit(repo, TreeStore(repo).save({}), (), "Nothing yet\n", 0)


def is_locked(linked: Repository) -> bool:
    return (linked.git_dir / "locked").exists()


def worktree_name(repo: Repository) -> str:
    """Name a worktree among those of its repository, as git does."""
    return "main-worktree" if repo.git_dir == repo.common_dir else repo.git_dir.name


def _home_name(repo: Repository) -> str:
    # Several worktrees of a repository may have a task of one id in their plans.
    return "." if repo.git_dir == repo.common_dir else repo.git_dir.name


def open_linked(repo: Repository, folder: Path) -> Repository | None:
    git_dir = _registration(folder)
    if git_dir is None or not _is_same(git_dir.parent, repo.common_dir / "worktrees"):
        return None
    return replace(repo, top=folder, git_dir=repo.common_dir / "worktrees" / git_dir.name)


def other_owner(linked: Repository) -> Path | None:
    """Return the git directory of the original, if the git directory with the worktree was copied."""
    git_dir = _registration(linked.top)
    owner = None if git_dir is None else git_dir.parent.parent
    return None if owner is None or _is_same(owner, linked.common_dir) else owner


def _registration(folder: Path) -> Path | None:
    """Return the git directory of a linked worktree; None unless folder and git directory name each other."""
    try:
        git_dir = Path(os.fsdecode((folder / ".git").read_bytes().removeprefix(b"gitdir: ").rstrip(b"\n")))
        back = Path(os.fsdecode((git_dir / "gitdir").read_bytes().rstrip(b"\n")))
        return git_dir if back.samefile(folder / ".git") else None
    except OSError:
        return None


def _is_same(path: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.samefile(other)
    return False


def task_worktrees(repo: Repository) -> Iterator[TaskWorktree]:
    """Yield the worktrees of tasks of this worktree's plan: those that git lists and that have our mark."""
    return (each for each in _of_tasks(repo, other_worktrees(repo)) if _is_unaltered(each.repo))


def altered_worktrees(repo: Repository) -> Iterator[TaskWorktree]:
    """Yield the tasks' worktrees whose folders exist but are not as git made them: nothing may touch them."""
    there = (each for each in _of_tasks(repo, other_worktrees(repo)) if is_taken(each.repo.top))
    return (each for each in there if not _is_unaltered(each.repo))


def _of_tasks(repo: Repository, among: Iterable[Repository]) -> Iterator[TaskWorktree]:
    for linked in among:
        owner = owner_of(linked)
        if owner is not None and owner.home == _home_name(repo):
            is_set_aside = (linked.private_dir / _SET_ASIDE).exists()
            yield TaskWorktree(owner.task_id, linked, Path(owner.made_at or linked.top), is_set_aside)


def _is_unaltered(linked: Repository) -> bool:
    """Whether folder and git directory point to each other, and the folder is no link to another."""
    is_itself = os.path.realpath(linked.top) == os.fspath(linked.top)
    return is_itself and open_linked(linked, linked.top) == linked


def lost_worktrees(repo: Repository) -> Iterator[TaskWorktree]:
    """Yield the worktrees of tasks of this worktree's plan that git lists though their folders are gone.

    An empty folder counts as gone. A locked worktree, such as one on a removed disk, is not lost.
    """
    listed = (each for each in listed_worktrees(repo) if not is_locked(each) and not is_taken(each.top))
    return _of_tasks(repo, listed)


def unowned_worktrees(repo: Repository) -> list[Repository]:
    """Return the linked worktrees of people, even if their folders are gone."""
    found = [linked for linked in listed_worktrees(repo) if owner_of(linked) is None]
    with _changing_list if found else contextlib.nullcontext():  # one may be just being added for a task
        return [linked for linked in found if owner_of(linked) is None]


def find_task_worktree(repo: Repository, task_id: str) -> TaskWorktree | None:
    """Return the worktree in which a task is worked on, where it is now; None if there is none."""
    of_task = (
        each
        for each in _of_tasks(repo, other_worktrees(repo))
        if each.task_id == task_id and not each.is_set_aside
    )
    return next((each for each in of_task if _is_unaltered(each.repo)), None)


def move_back(repo: Repository, linked: Repository, folder: Path) -> Repository:
    with _changing_list:
        repo.git("worktree", "move", *operands(str(linked.top), str(folder)))
    return replace(linked, top=folder)


class Owner(NamedTuple):
    """``home`` is the worktree whose plan has the task, ``made_at`` the folder that git was given."""

    task_id: str
    home: str
    made_at: str


def owner_of(linked: Repository) -> Owner | None:
    """Return the task that a linked worktree is of; None for one of a person's."""
    try:
        text = (linked.private_dir / _OWNER).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    task_id, _, rest = text.partition("\n")
    home, _, made_at = rest.partition("\n")
    return Owner(task_id, home, made_at) if task_id else None


def home_repository(linked: Repository) -> Repository | None:
    """Return the worktree whose plan has the task of a linked one, if it is there."""
    owner = owner_of(linked)
    if owner is None:
        return None
    wanted = linked.common_dir if owner.home == "." else linked.common_dir / "worktrees" / owner.home
    return next((each for each in other_worktrees(linked) if each.git_dir == wanted), None)


def begin_removal(linked: Repository, tree: str) -> None:
    """Note that files of the worktree of a task, whose tree is kept, may be missing from now on."""
    if not is_checkout_incomplete(linked):
        with writing(linked.private_dir):
            (linked.private_dir / _BEGUN).write_text(tree)


def remove_worktree(repo: Repository, linked: Repository) -> None:
    """Remove a linked worktree with all its files, ignored ones included.

    What tells whose it is goes last, so that the next command can complete a removal that was killed. Raises
    UnusableError where a file cannot be removed, and for a worktree that somebody locked.
    """
    if is_locked(linked):
        raise UnusableError(f"{linked.top} stays: it is locked")
    with _changing_list:
        remove_tree(linked.top, keep=".git")
        remove_tree(linked.top)
        _forget(repo, linked)
        # Git fails where the folder goes while it adds another one there.
        with contextlib.suppress(OSError):  # others are in it
            linked.top.parent.rmdir()


def _forget(repo: Repository, linked: Repository) -> None:
    """Make git forget a worktree in one step; the caller holds the lock of the list. Raises UnusableError."""
    with private_folder(repo, "forgotten") as folder, writing(linked.git_dir):
        linked.git_dir.rename(folder / linked.git_dir.name)
    repo.config_memo.pop(linked.git_dir, None)
    with contextlib.suppress(OSError):  # git knows others
        linked.git_dir.parent.rmdir()


def disk_bytes(folder: Path) -> int:
    total = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118  # faster
    return total
