"""``execution.commit checked``: what needs no decision and passed the check is committed without a person."""

import json
import subprocess
from pathlib import Path

import pytest

from git_blackbird.storage.locks import approval_in_progress
from tests.controller.support import open_at
from tests.support import commit, git, wait_until, write
from tests.trial.program import Trial
from tests.trial.test_check import SPEC, let_review


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command("echo $BLACKBIRD_TASK_ID >$BLACKBIRD_TASK_ID.txt")
    trial.configure({"execution.commit": "checked", "check.command": "test ! -e bad.txt"})
    return trial


def subjects(trial: Trial) -> list[str]:
    return git(trial.repo, "log", "--format=%s").split("\n")


def hook(trial: Trial, script: str) -> None:
    path = trial.repo / ".git/hooks/pre-commit"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def kill_in_hook(trial: Trial) -> None:
    """Execute a task, and kill that call while git commits its change."""
    caller = trial.repo / ".git/caller"
    hook(trial, f"until [ -s {caller} ]; do sleep 0.01; done; kill -9 $(cat {caller}); exit 1")
    killed = trial.start("execute", "--no-input", "a")
    caller.write_text(str(killed.pid))
    killed.communicate()
    wait_until(lambda: approval_in_progress(open_at(trial.repo).paths) is None)


@pytest.mark.exhaustive
def test_each_change_that_passes_is_committed_before_the_next_task_starts(trial: Trial) -> None:
    trial.command("git log -1 --format=%s >$BLACKBIRD_TASK_ID.txt")
    said = trial.expect(0, "execute", "--no-input")
    assert subjects(trial) == ["B", "A", "start"]
    assert (trial.repo / "b.txt").read_text() == "A\n"
    assert git(trial.repo, "status", "--porcelain") == ""
    oid = git(trial.repo, "rev-parse", "HEAD^")
    assert f"committed a (commit {oid[:12]})" in said
    (run,) = trial.records("a")
    assert run["blackbird"]["commits"] == [oid]
    assert "decision_state" not in run
    assert "committed 20" in trial.expect(0, "show", "a")
    trial.expect(0, "undo", "b")
    assert subjects(trial)[0] == 'Undo "B"'


@pytest.mark.exhaustive
def test_each_lands_with_its_commit_from_a_worktree_of_its_own(trial: Trial) -> None:
    said = trial.expect(0, "execute", "--no-input", "--worktrees")
    assert "landed a (commit " in said
    assert subjects(trial) == ["B", "A", "start"]
    assert git(trial.repo, "status", "--porcelain") == ""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("place", ["--jobs=1", "--worktrees"])
def test_a_hook_that_refuses_leaves_it_to_a_person_and_nothing_starts(trial: Trial, place: str) -> None:
    hook(trial, "echo bad style; exit 1")
    said = trial.expect(3, "execute", "--no-input", place)
    assert "bad style" in said
    assert subjects(trial) == ["start"]
    assert (trial.repo / "a.txt").read_text() == "a\n"
    assert trial.statuses() == {"a": "waiting_user", "b": "todo"}
    (due, *_) = json.loads(trial.expect(0, "status", "--json"))["data"]["due"]
    assert (due["kind"], due["task"]) == ("decision", "a")
    assert "bad style" in due["why"]
    hook(trial, "exit 0")
    trial.expect(0, "decide", "a", "--approve")
    assert subjects(trial) == ["A", "start"]
    trial.expect(0, "execute", "--no-input", place)
    assert subjects(trial) == ["B", "A", "start"]


@pytest.mark.exhaustive
def test_one_whose_commit_is_refused_can_be_taken_back_or_left_uncommitted(trial: Trial) -> None:
    hook(trial, "exit 1")
    trial.expect(3, "execute", "--no-input", "a")
    trial.expect(0, "decide", "a", "--reject", "--undo")
    assert not (trial.repo / "a.txt").exists()
    trial.expect(3, "restart", "a", "--no-input")
    trial.expect(0, "decide", "a", "--approve", "--no-commit")
    assert trial.statuses()["a"] == "done"
    assert subjects(trial) == ["start"]


def test_edits_of_ones_own_in_its_files_are_named_and_not_committed(trial: Trial) -> None:
    write(trial.repo, {"old.txt": "mine\n"})
    trial.command("echo theirs >>old.txt")
    said = trial.expect(3, "execute", "--no-input", "a")
    assert "old.txt: this file had uncommitted edits" in said
    assert subjects(trial) == ["start"]
    assert (trial.repo / "old.txt").read_text() == "mine\ntheirs\n"


def test_another_branch_than_that_of_the_run_gets_no_commit(trial: Trial) -> None:
    trial.command("git switch -q -c side; echo a >a.txt")
    said = trial.expect(3, "execute", "--no-input", "a")
    assert "side" in said
    assert subjects(trial) == ["start"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["show", "gate"])
@pytest.mark.parametrize("check", ["exit 1", "kill -9 $$"])
def test_what_did_not_pass_is_not_committed_and_said_once(trial: Trial, mode: str, check: str) -> None:
    trial.configure({"check.command": check, "check.mode": mode})
    said = trial.expect(3 if mode == "gate" else 0, "execute", "--no-input", "a")
    assert said.count("not committed") == (mode == "show")
    assert subjects(trial) == ["start"]


def test_without_a_check_nothing_is_committed_and_that_is_said_once(trial: Trial) -> None:
    trial.configure({"check.command": ""})
    said = trial.expect(0, "execute", "--no-input")
    assert said.count("this call commits nothing") == 1
    assert subjects(trial) == ["start"]


def test_where_decisions_are_due_the_approval_commits(trial: Trial) -> None:
    trial.configure({"execution.stopAfterEachTask": "true"})
    said = trial.expect(3, "execute", "--no-input")
    assert "commits nothing" not in said
    trial.expect(0, "decide", "a", "--approve")
    assert subjects(trial) == ["A", "start"]


@pytest.mark.exhaustive
def test_a_repaired_change_is_committed_whole(trial: Trial) -> None:
    trial.command("if [ $BLACKBIRD_RESUME ]; then rm bad.txt; else echo a >a.txt; echo bad >bad.txt; fi")
    trial.configure({"check.mode": "gate"})
    trial.expect(0, "execute", "--no-input", "a")
    assert git(trial.repo, "show", "--name-status", "--format=%s").split() == ["A", "A", "a.txt"]


def test_a_commit_that_was_due_when_the_call_was_killed_is_made_by_the_next(trial: Trial) -> None:
    kill_in_hook(trial)
    hook(trial, "exit 0")
    assert "to commit" in trial.expect(0, "status")
    trial.expect(0, "execute", "--no-input", "a")
    assert subjects(trial) == ["A", "start"]
    assert git(trial.repo, "status", "--porcelain") == ""


def test_one_that_was_given_up_before_its_commit_can_be_taken_back(trial: Trial) -> None:
    kill_in_hook(trial)
    trial.expect(0, "retry", "a")
    trial.expect(0, "undo", "a")
    assert not (trial.repo / "a.txt").exists()
    assert trial.statuses()["a"] == "todo"
    assert subprocess.run(["git", "diff", "--quiet"], cwd=trial.repo, check=False).returncode == 0


@pytest.mark.exhaustive
def test_reviews_come_before_the_commit(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, SPEC.format("APPROVED", ""))
    said = trial.expect(0, "execute", "--no-input", "a")
    assert said.index("check of a passed") < said.index("spec review of a") < said.index("committed a")
    assert len(trial.reviews("a")) == 2
    assert subjects(trial) == ["A", "start"]


def test_reviews_that_leave_it_to_a_person_commit_nothing(trial: Trial, tmp_path: Path) -> None:
    let_review(trial, tmp_path, "no form")
    trial.expect(3, "execute", "--no-input", "a")
    assert subjects(trial) == ["start"]
