"""A kill in the instant in which the user's index is replaced: git goes on after any command of ours."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crash.running import run, step_like, strike
from tests.crash.scenes import SCENES, ours
from tests.support import git

COMMIT = SCENES["commit"]


def commits(repo: Path) -> bool:
    """Whether git lets the user commit."""
    command = ["git", "commit", "-q", "--allow-empty", "-m", "goes on"]
    return subprocess.run(command, cwd=repo, capture_output=True, check=False).returncode == 0


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """An approval that was killed between git's lock on the index and the new index."""
    repo, rehearsal = tmp_path / "repo", tmp_path / "rehearsal"
    COMMIT.prepare(repo)
    shutil.copytree(repo, rehearsal, symlinks=True)
    _, steps = strike(rehearsal, COMMIT.command, "")
    ended, _ = strike(repo, COMMIT.command, "", f"kill:{step_like(steps, r'os.rename .*/index.lock')}")
    assert ended.code < 0
    return repo


def test_whatever_command_comes_next_lets_git_go_on(killed: Path) -> None:
    lock = killed / ".git/index.lock"
    assert not commits(killed)
    assert "M  a.txt" in git(killed, "status", "--porcelain"), "git reads past it"
    for command in ("status", "runs", "list"):
        again = killed.parent / command
        shutil.copytree(killed, again, symlinks=True)
        private = next((again / ".git/blackbird").glob("next.*/index"))
        (again / ".git/index.lock").unlink()
        (again / ".git/index.lock").hardlink_to(private)
        assert run(again, ours(command)).code == 0
        assert commits(again)
    assert lock.exists()
    assert run(killed, ours("decide", "a", "--approve")).code == 0
    assert git(killed, "log", "-1", "--format=%s") == "Task a"
    assert git(killed, "status", "--porcelain") == "M  a.txt"
    assert commits(killed)
