"""The user's index is replaced under git's own lock, which exists for two system calls."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.git.worktree.index import replace_index
from git_blackbird.git.worktree.index_lock import clear_leftover_lock, require_free_index
from tests.git.support import found
from tests.support import commit, git, write


@pytest.fixture
def lock(repo: Path) -> Path:
    """The place of the lock in a repository that has an index."""
    commit(repo, {"a.txt": "one\n"})
    return repo / ".git/index.lock"


def adding(repo: Path, name: str) -> Callable[[Path], bool]:
    """Stage an empty file of that name in an index."""
    blob = git(repo, "hash-object", "-w", "--stdin", stdin=b"")

    def edit(index: Path) -> bool:
        command = ["update-index", "--add", "--cacheinfo", f"100644,{blob},{name}"]
        git(repo, "-c", f"alias.x=!GIT_INDEX_FILE='{index}' git {' '.join(command)}", "x")
        return True

    return edit


def staged(repo: Path) -> list[str]:
    return git(repo, "ls-files").splitlines()


def leave_after_kill(repo: Path, name: str = "index") -> Path:
    """What a kill before the rename leaves in the private folder."""
    finished = repo / ".git/blackbird/next.killed" / name
    finished.parent.mkdir(parents=True)
    shutil.copy2(repo / ".git/index", finished)
    return finished


def test_while_a_copy_is_edited_git_goes_on_and_nothing_of_it_is_lost(repo: Path, lock: Path) -> None:
    add, calls = adding(repo, "ours"), 0

    def edit(index: Path) -> bool:
        nonlocal calls
        calls += 1
        assert not lock.exists()
        if calls == 1:
            write(repo, {"theirs": "x\n"})
            git(repo, "add", "theirs")
        return add(index)

    replace_index(found(repo), edit)
    assert (calls, staged(repo), lock.exists()) == (2, ["a.txt", "ours", "theirs"], False)


def test_an_index_that_never_stays_is_given_up(repo: Path, lock: Path) -> None:
    add = adding(repo, "ours")

    def edit(index: Path) -> bool:
        git(repo, "update-index", "--force-write-index")
        return add(index)

    with pytest.raises(UnusableError, match="other processes keep changing"):
        replace_index(found(repo), edit)
    assert (staged(repo), lock.exists()) == (["a.txt"], False)


def test_a_first_index_is_made(repo: Path) -> None:
    replace_index(found(repo), adding(repo, "ours"))
    assert staged(repo) == ["ours"]


def test_who_holds_the_index_is_waited_for_and_then_named(repo: Path, lock: Path) -> None:
    lock.write_bytes(b"")
    clear_leftover_lock(found(repo))
    said = f"another git process is running here: {lock} exists"
    with pytest.raises(UnusableError, match=said):
        require_free_index(found(repo))
    with pytest.raises(UnusableError, match=said):
        replace_index(found(repo), adding(repo, "ours"))
    assert (lock.exists(), staged(repo)) == (True, ["a.txt"])


@pytest.mark.parametrize("place", [os.link, shutil.copy])
def test_a_lock_of_ours_that_nobody_holds_is_cleared(
    repo: Path, lock: Path, place: Callable[[Path, Path], object]
) -> None:
    finished = leave_after_kill(repo, "index" if place is os.link else "copied")
    place(finished, lock)
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        clear_leftover_lock(found(repo))
        assert lock.exists(), "its process is at work"
    clear_leftover_lock(found(repo))
    assert not lock.exists()
    git(repo, "commit", "-q", "--allow-empty", "-m", "goes on")


def test_a_lock_of_another_is_left_whatever_it_holds(repo: Path, lock: Path) -> None:
    leave_after_kill(repo)
    shutil.copy2(repo / ".git/index", lock)
    clear_leftover_lock(found(repo))
    assert lock.exists()


def test_without_hard_links_the_index_is_replaced_as_well(
    repo: Path, lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: object, target: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    replace_index(found(repo), adding(repo, "ours"))
    assert (staged(repo), lock.exists()) == (["a.txt", "ours"], False)
    lock.write_bytes(b"")
    with pytest.raises(UnusableError, match="another git process"):
        replace_index(found(repo), adding(repo, "more"))
    assert lock.exists()
