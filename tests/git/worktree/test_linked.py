"""Linked worktrees: what an interrupt leaves of one is no half of one."""

import os
import shutil
import sys
import threading
from pathlib import Path

import pytest

from git_blackbird.git.core.process import GitStoppedError, GitWork
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree import linked
from git_blackbird.git.worktree.index import sweep_private_folders
from git_blackbird.git.worktree.linked import (
    add_task_worktree,
    begin_checkout,
    end_checkout,
    find_task_worktree,
    lost_worktrees,
    remove_half_added,
    remove_worktree,
    task_worktrees,
)
from tests.controller.killing import run_killed
from tests.support import commit, git, wait_until, write


def test_a_worktree_that_is_being_added_is_added_when_its_work_is_stopped(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(repo, {"old.txt": "old\n"})
    place = tmp_path / "bin" / "git"
    place.parent.mkdir()
    waits = f"touch {tmp_path}/here; until [ -e {tmp_path}/go ]; do sleep 0.01; done"
    case = f'case " $* " in *" worktree add "*) {waits};; esac'
    place.write_text(f'#!/bin/sh\n{case}\nexec {shutil.which("git")} "$@"\n')
    place.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    monkeypatch.setenv("PATH", environ["PATH"])
    work, stopped = GitWork(), list[GitStoppedError]()

    def add() -> None:
        with work.in_this_thread():
            try:
                add_task_worktree(discover(repo, environ), "a", tmp_path / "a")
            except GitStoppedError as error:
                stopped.append(error)

    thread = threading.Thread(target=add)
    thread.start()
    wait_until((tmp_path / "here").exists)
    work.stop()
    (tmp_path / "go").touch()
    thread.join()
    assert [error.message for error in stopped] == ["git was interrupted"]
    assert git(repo, "fsck", "--strict", "--no-dangling") == ""
    assert f"worktree {tmp_path / 'a'}\n" in git(repo, "worktree", "list", "--porcelain")


def test_the_folder_of_worktrees_goes_while_none_can_be_added(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    above, here = str(tmp_path / "above"), discover(repo, os.environ)
    made = add_task_worktree(here, "a", tmp_path / "above" / "a")
    locked = list[bool]()

    def look(event: str, args: tuple[object, ...]) -> None:
        if event == "os.rmdir" and args[0] == above:
            locked.append(linked._changing_list.locked())

    sys.addaudithook(look)
    remove_worktree(here, made)
    assert locked == [True]
    assert not os.path.lexists(above)


def test_what_was_half_made_goes(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    ours, above = discover(repo, dict(os.environ)), tmp_path / "tasks"
    unmarked, by_git = (add_task_worktree(ours, name, above / name) for name in "ab")
    (unmarked.private_dir / "task").unlink()
    shutil.rmtree(by_git.private_dir)
    (by_git.git_dir / "locked").write_text("initializing")
    (by_git.git_dir / "HEAD").write_text(f"{'0' * 40}\n")
    git(repo, "worktree", "add", "-q", "--detach", str(above / "mine"))
    remove_half_added(ours, above)
    assert list(task_worktrees(ours)) == []
    assert [place.name for place in above.iterdir()] == ["mine"]
    assert len(git(repo, "worktree", "list").splitlines()) == 2


def test_a_kill_at_any_step_of_a_removal_leaves_what_the_next_can_complete(
    repo: Path, tmp_path: Path
) -> None:
    commit(repo, {"old.txt": "old\n", "lib/a.txt": "a\n"})
    ours, folder = discover(repo, dict(os.environ)), tmp_path / "tasks/t"
    at, lost, is_killed = 1, 0, True
    while is_killed:
        linked = add_task_worktree(ours, "t", folder)
        begin_checkout(linked, git(repo, "rev-parse", "HEAD"))
        end_checkout(linked)
        write(folder, {"lib/new.txt": "new\n", "ignored/deep/file": "x"})
        is_killed = run_killed(lambda: remove_worktree(ours, linked), at)  # noqa: B023
        if (left := find_task_worktree(ours, "t")) is not None:
            remove_worktree(ours, left.repo)
        for gone in list(lost_worktrees(ours)):
            remove_worktree(ours, gone.repo)
            lost += 1
        sweep_private_folders(ours)
        assert not folder.exists()
        assert len(git(repo, "worktree", "list").splitlines()) == 1
        assert not any((repo / ".git/blackbird").iterdir())
        at += 1
    assert at > 9
    assert lost > 1
