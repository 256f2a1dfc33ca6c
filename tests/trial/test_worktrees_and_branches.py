"""The same task in two worktrees, and a decision on another branch than the run's."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.terminal import ENTER, Terminal
from tests.records import fact
from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n", ".gitignore": ".blackbird\nblackbird.plan.json\n"}, "start")
    trial = Trial(repo)
    trial.plan({"a": (), "b": ()})
    trial.configure({"execution.stopAfterEachTask": "true"})
    return trial


@pytest.fixture
def linked(trial: Trial, tmp_path: Path) -> Trial:
    git(trial.repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Trial(tmp_path / "linked")
    linked.plan({"a": (), "b": ()})
    return linked


def start_and_hold(trial: Trial, tmp_path: Path) -> tuple["subprocess.Popen[str]", Path, str]:
    """Start a task whose agent works until its pipe is written to; return what others are told of it, too."""
    go = tmp_path / "go"
    os.mkfifo(go)
    trial.command(f"echo agent >new.txt; touch {tmp_path}/ready; read -r _ <{go}")
    process = trial.start("execute", "a", "--no-input")
    wait_until((tmp_path / "ready").exists)
    (run,) = trial.records("a")
    return process, go, f"run {run['id']} (process {fact(run, 'pid')}) works on it in {trial.repo}"


@pytest.mark.exhaustive
def test_what_goes_on_in_another_worktree_is_named(trial: Trial, linked: Trial, tmp_path: Path) -> None:
    process, go, live = start_and_hold(trial, tmp_path)
    (run,) = trial.records("a")
    assert f"in other worktrees\n  a  {live}\n" in linked.expect(0, "status")
    assert f"in other worktrees\n  a  {live}\n" in linked.expect(0, "show", "a")
    assert "in other worktrees" not in linked.expect(0, "show", "b")
    assert "in other worktrees" not in trial.expect(0, "status")
    go.write_text("go\n")
    process.communicate(timeout=PATIENCE_SECONDS)
    pending = f"a decision on run {run['id']} is pending in {trial.repo}"
    assert f"in other worktrees\n  a  {pending}\n" in linked.expect(0, "status")
    said = json.loads(linked.expect(0, "status", "--json"))["data"]["otherWorktrees"]
    assert said == [{"task": "a", "run": run["id"], "state": "decision", "worktree": str(trial.repo)}]
    trial.expect(0, "decide", "a", "--approve")
    assert "in other worktrees" not in linked.expect(0, "status")


@pytest.mark.exhaustive
def test_a_task_does_not_start_twice(trial: Trial, linked: Trial, tmp_path: Path) -> None:
    process, go, live = start_and_hold(trial, tmp_path)
    (run,) = trial.records("a")
    hint = "hint: finish it in that worktree, or retry it there to give it up\n"
    linked.command("echo agent >new.txt")
    for command in ("execute", "restart"):
        assert linked.expect(7, command, "a", "--no-input").endswith(f"a is not started: {live}\n{hint}")
    go.write_text("go\n")
    process.communicate(timeout=PATIENCE_SECONDS)
    output = linked.expect(3, "execute", "--no-input")
    pending = f"a decision on run {run['id']} is pending in {trial.repo}"
    assert f"warning: a is not started: {pending}\n{hint}" in output
    assert (linked.records("a"), len(linked.records("b"))) == ([], 1)
    linked.expect(0, "decide", "b", "--approve")
    trial.expect(0, "retry", "a")
    linked.expect(3, "execute", "--no-input")
    assert len(linked.records("a")) == 1


def test_of_two_that_start_it_at_the_same_moment_one_does(trial: Trial, linked: Trial) -> None:
    both = (trial, linked)
    for one in both:
        one.command("echo agent >new.txt")
    # Whoever comes second may find the other at work, or done already.
    processes = [one.start("execute", "a", "--no-input") for one in both]
    ended = [(*process.communicate(timeout=PATIENCE_SECONDS), process.returncode) for process in processes]
    assert sorted(code for *_, code in ended) == [3, 7], ended
    first = next(one for one, (*_, code) in zip(both, ended, strict=True) if code == 3)
    assert [len(one.records("a")) for one in both] == [int(one is first) for one in both]
    (said,) = (out for out, _, code in ended if code == 7)
    assert first.records("a")[0]["id"] in said
    assert str(first.repo) in said


def test_worktrees_that_cannot_be_read_are_passed_over(trial: Trial, linked: Trial) -> None:
    (linked.repo / "blackbird.plan.json").write_text("{")
    (linked.repo / ".blackbird" / "runs").mkdir(parents=True)
    trial.expect(0, "status")
    trial.command("true")
    trial.expect(3, "execute", "--no-input")
    (linked.repo / ".git").unlink()
    trial.expect(0, "status")


ELSEWHERE = "the run worked on the branch main; now HEAD is on side"


def test_an_approval_without_a_commit_says_that_the_branch_is_another(trial: Trial) -> None:
    trial.command("echo agent >new.txt")
    trial.expect(3, "execute", "a", "--no-input")
    git(trial.repo, "switch", "-q", "-c", "side")
    output = trial.expect(0, "decide", "a", "--approve")
    assert f"warning: a is approved on another branch: {ELSEWHERE}\n" in output


def test_an_approval_does_not_commit_to_another_branch_unasked(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved"})
    trial.command("echo agent >new.txt")
    trial.expect(3, "execute", "a", "--no-input")
    git(trial.repo, "switch", "-q", "-c", "side")
    before = git(trial.repo, "rev-parse", "HEAD")
    output = trial.expect(1, "decide", "a", "--approve")
    assert f"error: a is not approved: its commit would go to another branch: {ELSEWHERE}\n" in output
    assert "go back with `git switch main`, or add --any-branch to commit here, and approve again" in output
    assert git(trial.repo, "rev-parse", "side") == before
    trial.expect(0, "decide", "a", "--approve", "--any-branch")
    assert git(trial.repo, "log", "--format=%s", "main..side") == "A"


@pytest.mark.exhaustive
def test_a_branch_that_the_agent_went_to_is_named_and_not_left(trial: Trial) -> None:
    trial.configure({"execution.commit": "approved"})
    trial.command(
        "git switch -q -c agents; echo 4 >four.txt; git add four.txt; git commit -q -m four; echo 5 >five.txt"
    )
    output = trial.expect(3, "execute", "a", "--no-input")
    (run,) = trial.records("a")
    warning = f"warning: HEAD was on main when run {run['id']} began, and is on agents now\n"
    assert f"{warning}hint: git switch main\n" in output
    output = trial.expect(1, "decide", "a", "--approve")
    assert "would go to another branch: the agent left the branch main; HEAD is on agents\n" in output
    assert "hint: add --any-branch to commit here, and approve again" in output
    git(trial.repo, "switch", "-q", "main")
    output = trial.expect(1, "decide", "a", "--approve")
    assert "would go to another branch: the run worked on the branch agents; now HEAD is on main\n" in output
    assert "go back with `git switch agents`, or add --any-branch to commit here, and approve again" in output
    git(trial.repo, "switch", "-q", "agents")
    trial.expect(0, "decide", "a", "--approve", "--any-branch")
    assert git(trial.repo, "show", "--format=%s", "--name-only") == "A\n\nfive.txt"
    assert git(trial.repo, "status", "--porcelain", "four.txt", "five.txt") == ""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 3)])
def test_line_mode_asks_first(trial: Trial, answer: str, code: int) -> None:
    trial.configure({"execution.commit": "approved"})
    trial.command("echo agent >new.txt")
    trial.expect(3, "execute", "a", "--no-input")
    git(trial.repo, "switch", "-q", "-c", "side")
    output = trial.expect(code, "execute", stdin=f"2\n{answer}\n")
    assert f"Another branch: {ELSEWHERE}\n" in output
    assert f"Careful: {ELSEWHERE}.\nApprove on this branch anyway? [y/N] {answer}\n" in output
    assert git(trial.repo, "log", "--format=%s", "main..side") == ("A" if answer == "y" else "")


def test_the_prompt_asks_first(trial: Trial) -> None:
    trial.command("echo agent >new.txt")
    trial.expect(3, "execute", "a", "--no-input")
    git(trial.repo, "switch", "-q", "-c", "side")
    with Terminal(trial.repo, "execute") as terminal:
        terminal.wait_for_list()
        terminal.type("2", ENTER)
        terminal.wait_for("Approve on this branch anyway?")
        terminal.type("1", ENTER)
        terminal.wait_for_list(times=2)
        terminal.type("2", ENTER)
        terminal.wait_for("Approve on this branch anyway?", times=2)
        terminal.type("2", ENTER)
        assert terminal.end() == 0
    assert trial.records("a")[0]["decision_state"] == "approved_quit"


def test_show_of_a_task_elsewhere_is_told_to_scripts(trial: Trial, linked: Trial) -> None:
    trial.command("true")
    trial.expect(3, "execute", "b", "--no-input")
    data = json.loads(linked.expect(0, "show", "b", "--json"))["data"]
    assert [one["state"] for one in data["otherWorktrees"]] == ["decision"]
    assert json.loads(linked.expect(0, "show", "a", "--json"))["data"]["otherWorktrees"] == []
