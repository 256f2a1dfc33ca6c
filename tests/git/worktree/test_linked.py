"""Linked worktrees: what an interrupt leaves of one is no half of one."""

import os
import shutil
import threading
from pathlib import Path

import pytest

from git_blackbird.git.core.process import GitStoppedError, GitWork
from git_blackbird.git.core.repository import discover
from git_blackbird.git.worktree.linked import add_task_worktree, complete_interrupted_adds, task_worktrees
from tests.support import commit, git, wait_until


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


def test_what_was_half_made_is_marked_or_goes(repo: Path, tmp_path: Path) -> None:
    commit(repo, {"old.txt": "old\n"})
    ours, above = discover(repo, dict(os.environ)), tmp_path / "tasks"
    unmarked, by_git = (add_task_worktree(ours, name, above / name) for name in "ab")
    (unmarked.private_dir / "task").unlink()
    shutil.rmtree(by_git.private_dir)
    (by_git.git_dir / "locked").write_text("initializing")
    (by_git.git_dir / "HEAD").write_text(f"{'0' * 40}\n")
    git(repo, "worktree", "add", "-q", "--detach", str(above / "mine"))
    complete_interrupted_adds(ours, above)
    assert [each.task_id for each in task_worktrees(ours)] == ["a"]
    assert sorted(place.name for place in above.iterdir()) == ["a", "mine"]
    assert len(git(repo, "worktree", "list").splitlines()) == 3
