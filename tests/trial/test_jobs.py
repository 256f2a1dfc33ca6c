"""Several tasks at once through the program as its user starts it, by the real clock."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support import PATIENCE_SECONDS, commit, git, wait_until
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"})
    trial = Trial(repo)
    trial.plan({"one": (), "two": ()})
    return trial


@pytest.mark.exhaustive
def test_a_merge_that_took_its_plan_can_be_aborted_as_is_said(repo: Path) -> None:
    trial = Trial(repo)
    trial.configure({"execution.worktrees": "true", "execution.commit": "approved"})
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.command("echo new >new.txt")
    trial.plan({"a": (), "b": (), "c": (), "d": ()})
    trial.expect(0, "edit", "a", "--title", "First")
    git(repo, "add", "blackbird.plan.json")
    commit(repo, {"f": "base\n", ".gitignore": ".blackbird\n"})
    git(repo, "checkout", "-q", "-b", "side")
    trial.expect(0, "edit", "d", "--title", "Other")
    git(repo, "add", "blackbird.plan.json")
    commit(repo, {"f": "side\n"})
    git(repo, "checkout", "-q", "main")
    trial.expect(3, "execute", "a", "--no-input")
    git(repo, "add", "blackbird.plan.json")
    commit(repo, {"f": "main\n"})
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo, capture_output=True, check=False)
    trial.approve("a")
    said = trial.expect(3, "execute", "a", "--no-input")
    (way,) = set(re.findall(r"`(git [^`]*--abort)`", said))
    subprocess.run(way, shell=True, cwd=repo, check=True)
    trial.approve("a")
    assert "landed a (commit " in trial.expect(0, "execute", "a", "--no-input")
    listed = git(repo, "log", "-1", "--name-only", "--format=%s").split()
    assert listed == ["First", "blackbird.plan.json", "new.txt"]


def test_a_decision_from_elsewhere_is_carried_out_while_others_work(trial: Trial) -> None:
    resumed = trial.repo.parent / "resumed"
    until = f'until [ -e "{resumed}" ]; do sleep 0.01; done'
    work = f"if [ $BLACKBIRD_TASK_ID = two ]; then {until}; fi; echo x >own.$BLACKBIRD_TASK_ID"
    trial.command(f'if [ "$BLACKBIRD_RESUME" ]; then touch "{resumed}"; else {work}; fi')
    trial.configure({"execution.stopAfterEachTask": "true"})
    with trial.start("execute", "--no-input", "--jobs", "2") as execute:
        wait_until(lambda: trial.statuses()["one"] == "waiting_user")
        trial.expect(0, "decide", "one", "--request-changes", "-m", "Once more.")
        try:
            # The second agent waits for what the first does when it is resumed.
            assert execute.wait(PATIENCE_SECONDS) == 3
        finally:
            resumed.touch()
    assert len(trial.records("one")) == 2


def test_a_decision_in_the_users_worktree_keeps_other_tasks_from_starting(trial: Trial) -> None:
    trial.command("echo x >own.$BLACKBIRD_TASK_ID")
    trial.configure({"execution.stopAfterEachTask": "true"})
    trial.expect(3, "execute", "one", "--no-input")
    trial.expect(3, "execute", "--no-input", "--jobs", "2")
    assert trial.statuses() == {"one": "waiting_user", "two": "todo"}
    trial.expect(0, "decide", "one", "--approve")
    trial.expect(3, "execute", "--no-input", "--jobs", "2")
    assert trial.statuses() == {"one": "done", "two": "waiting_user"}


def test_what_was_made_before_a_conflict_lands_as_well(trial: Trial) -> None:
    names = " ".join(f"{trial.repo.parent}/{name}.here" for name in ("one", "two"))
    meet = f"touch {trial.repo.parent}/$BLACKBIRD_TASK_ID.here; for it in {names}; do {{}}; done; "
    until = 'until [ -e "$it" ]; do sleep 0.01; done'
    begin = meet.format(until) + "echo $BLACKBIRD_TASK_ID | tee own.$BLACKBIRD_TASK_ID >shared.txt"
    trial.command(f'if [ "$BLACKBIRD_RESUME" ]; then echo both >shared.txt; else {begin}; fi')
    output = trial.expect(0, "execute", "--no-input", "--no-stop", "--jobs", "2")
    assert output.count("goes back to its agent: it conflicts with your worktree in shared.txt") == 1
    assert git(trial.repo, "status", "--short").split() == [
        "??",
        "own.one",
        "??",
        "own.two",
        "??",
        "shared.txt",
    ]
    assert (trial.repo / "shared.txt").read_text() == "both\n"
