"""A part of a change is approved by file; what is left out stays in the worktree as the user's own."""

from pathlib import Path

import pytest

from tests.records import fact
from tests.support import commit, git
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("echo a >>old.txt; mkdir -p d/e; echo a >d/e/one; echo a >d/two; echo a >rest")
    trial.expect(3, "execute", "--no-input", "a")
    return trial


def changed(trial: Trial) -> list[str]:
    return git(trial.repo, "status", "--porcelain", "-uall").splitlines()


def test_only_the_named_files_and_folders_are_committed(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved"})
    trial.expect(0, "decide", "a", "--approve", "--files", "e", "--files", "../old.txt", cwd=trial.repo / "d")
    assert git(trial.repo, "show", "--format=", "--name-only", "HEAD").splitlines() == ["d/e/one", "old.txt"]
    assert changed(trial) == ["?? d/two", "?? rest"]
    assert trial.statuses()["a"] == "done"
    trial.command("echo b >b.txt")
    trial.expect(3, "execute", "--no-input", "b")
    assert trial.records("b")[0]["review_summary"]["files"] == ["b.txt"]


def test_without_a_commit_the_record_says_what_was_approved(trial: Trial) -> None:
    trial.expect(0, "decide", "a", "--approve", "--files", "rest")
    (record,) = trial.records("a")
    trees = fact(record, "shown")
    assert git(trial.repo, "diff", "--name-only", trees["base"], trees["head"]) == "rest"
    assert len(changed(trial)) == 4


def test_a_path_that_the_change_does_not_have_is_refused(trial: Trial) -> None:
    output = trial.expect(1, "decide", "a", "--approve", "--files", "rest", "--files", "nowhere")
    assert 'the change has no file "nowhere"' in output
    assert trial.records("a")[0]["decision_state"] == "pending"
    assert "--files goes with --approve" in trial.expect(2, "decide", "a", "--reject", "--files", "rest")
