"""Checks of one user wait for each other, in whatever repository they run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import CTRL_C, Terminal
from tests.support import commit, git
from tests.trial.program import PATIENCE_SECONDS, Trial

WAITS = "the check of a waits for another one of yours: a in"


def trial_at(repo: Path, check: str) -> Trial:
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": ()})
    trial.command("echo new >new.txt")
    trial.configure({"check.command": check, "check.slots": "1"})
    return trial


@pytest.fixture
def two(sealed: Path, tmp_path: Path) -> Trial:
    """A worktree with a task whose check passes."""
    return trial_at(tmp_path / "two", f"echo >{tmp_path}/checked")


@pytest.fixture
def checking(sealed: Path, tmp_path: Path) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A call in another worktree whose check is at work until the descriptor is closed."""
    os.mkfifo(tmp_path / "fifo")
    process = trial_at(tmp_path / "one", f"cat {tmp_path}/fifo").start("execute", "--no-input")
    writer = os.open(tmp_path / "fifo", os.O_WRONLY)
    yield process, writer
    process.kill()
    process.communicate()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("ends", ["itself", "killed"])
def test_a_check_waits_until_another_ends(
    two: Trial, checking: tuple["subprocess.Popen[str]", int], tmp_path: Path, ends: str
) -> None:
    process, writer = checking
    with Terminal(two.repo, "execute", "--no-input") as waiting:
        waiting.wait_for(f"{WAITS} {tmp_path}/one (process {process.pid})")
        assert "checking a" not in waiting.plain
        assert not (tmp_path / "checked").exists()
        if ends == "killed":
            process.kill()
        else:
            os.close(writer)
        assert waiting.end() == 0
        assert waiting.plain.count(WAITS) == 1
        assert "check of a ended: exit 0 (" in waiting.plain
    if ends == "killed":
        os.close(writer)
    else:
        assert process.wait(PATIENCE_SECONDS) == 0


def test_ctrl_c_ends_the_waiting(
    two: Trial, checking: tuple["subprocess.Popen[str]", int], tmp_path: Path
) -> None:
    with Terminal(two.repo, "execute", "--no-input") as waiting:
        waiting.wait_for(WAITS)
        waiting.type(CTRL_C)
        assert waiting.end() == 130
    assert not (tmp_path / "checked").exists()
    assert two.statuses() == {"a": "in_progress"}
    two.configure({"check.slots": "2"})
    assert "check of a ended: exit 0 (" in two.expect(0, "execute", "--no-input")
    os.close(checking[1])


@pytest.mark.exhaustive
def test_a_check_that_starts_another_has_a_slot_for_both(two: Trial, tmp_path: Path) -> None:
    program = f"{sys.executable} -m git_blackbird execute --no-input"
    said = trial_at(tmp_path / "one", f"cd {two.repo} && {program}").expect(0, "execute", "--no-input")
    assert "check of a ended: exit 0 (" in said
    assert (tmp_path / "checked").exists()


def test_where_there_can_be_no_locks_nothing_waits(two: Trial, sealed: Path) -> None:
    (sealed / ".cache").write_text("")
    two.configure({"check.command": "test ! -e new.txt"})
    said = two.expect(0, "execute", "--no-input")
    assert said.count("checks do not wait for each other: cannot write") == 1
    assert "check of a failed: exit 1" in said
