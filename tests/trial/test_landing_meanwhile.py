"""What a person or git does while the merged files of a landing are checked."""

import shlex
import sys
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import ROOT, Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A task whose change is approved, and lands beside an edit that the check has not seen yet."""
    commit(repo, {"x": "1\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.stopAfterEachTask": "true", "execution.worktrees": "true"})
    trial.command("echo 1 >new")
    trial.expect(3, "execute", "a", "--no-input")
    (repo / "x").write_text("2\n")
    trial.approve("a")
    return trial


def check_by(trial: Trial, script: str) -> None:
    """Let the check be something that a person does in the repository meanwhile."""
    theirs = "GIT_CEILING_DIRECTORIES BLACKBIRD_RUN_ID BLACKBIRD_TASK_ID"
    where = f"cd {shlex.quote(str(trial.repo))} && unset {theirs}"
    ours = f'blackbird() {{ PYTHONPATH={ROOT} {sys.executable} -m git_blackbird "$@"; }}'
    trial.configure({"check.command": f"{where}; {ours}; {script}"})


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", ["delete a --force", "set-status a skipped", "set-status a failed"])
def test_a_task_that_is_given_up_does_not_land(trial: Trial, words: str) -> None:
    check_by(trial, f"blackbird {words} >said 2>&1; echo $? >code")
    said = trial.expect(0, "execute", "--no-input", "a")
    assert (trial.repo / "code").read_text() == "0\n", (trial.repo / "said").read_text()
    assert "the change of a does not land: it was given up meanwhile" in said
    assert not (trial.repo / "new").exists()


def test_garbage_that_is_collected_meanwhile_is_none_of_it(trial: Trial) -> None:
    check_by(trial, "git reflog expire --expire=now --all && git gc -q --prune=now && git fsck")
    trial.expect(0, "execute", "a", "--no-input")
    assert (trial.repo / "new").read_text() == "1\n"
    git(trial.repo, "gc", "-q", "--prune=now")
    trial.expect(0, "undo", "a")
    assert git(trial.repo, "status", "--porcelain") == " M x"


def test_a_worktree_that_somebody_locked_stays(trial: Trial) -> None:
    folder = trial.repo.parent / f"{trial.repo.name}.worktrees" / "a"
    git(trial.repo, "worktree", "lock", "--reason", "I look at it", str(folder))
    said = trial.expect(0, "execute", "a", "--no-input")
    way_out = f"`git worktree unlock {folder}`, then `git blackbird worktrees prune`"
    why = f"{folder} stays: it is locked; {way_out}"
    assert f"the worktree of a was not removed: {why}\n" in said
    assert f": a, landed: {why}\n" in trial.expect(0, "worktrees", "prune")
    assert (trial.repo / "new").read_text() == (folder / "new").read_text() == "1\n"
    git(trial.repo, "worktree", "unlock", str(folder))
    trial.expect(0, "worktrees", "prune")
    assert not folder.exists()
