"""Tasks that removed or reverted what others did, taken back and brought back in any order."""

from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    commit(repo, {"old.txt": lines, ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    return trial


def work(trial: Trial, task: str, script: str) -> None:
    trial.command(script)
    trial.expect(0, "execute", "--no-input", task)


def changed(trial: Trial) -> list[str]:
    return git(trial.repo, "status", "--porcelain", "-uall").splitlines()


@pytest.mark.exhaustive
def test_what_another_task_removed_comes_back_without_what_was_taken_back(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt; echo a >third.txt")
    work(trial, "b", "mv old.txt moved.txt; rm new.txt")
    assert "left as it is: old.txt: the change of b builds on it\n" in trial.expect(0, "undo", "a")
    assert "with it goes what `undo a` had to leave\n" in trial.expect(0, "undo", "b")
    assert changed(trial) == []
    trial.expect(1, "redo", "b")
    assert "with it goes what `redo b` had to leave\n" in trial.expect(0, "redo", "a")
    assert changed(trial) == [" D old.txt", "?? moved.txt", "?? third.txt"]


def test_what_another_task_reverted_is_not_brought_back_for_it(trial: Trial) -> None:
    work(trial, "a", "sed -i 's/line 3$/a/' old.txt; echo a >new.txt")
    work(trial, "b", "sed -i 's/^a$/line 3/' old.txt; rm new.txt; echo b >other.txt")
    trial.expect(0, "undo", "b")
    trial.expect(0, "undo", "a")
    for command, task, after in (
        ("redo", "b", ["?? other.txt"]),
        ("redo", "a", ["?? other.txt"]),
        ("undo", "a", ["?? other.txt"]),
        ("undo", "b", []),
        ("redo", "a", [" M old.txt", "?? new.txt"]),
        ("redo", "b", ["?? other.txt"]),
    ):
        trial.expect(0, command, task)
        assert changed(trial) == after, f"{command} {task}"
