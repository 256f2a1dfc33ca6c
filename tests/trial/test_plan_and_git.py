"""What people do with git while tasks are done, one waits and one runs, where commits carry statuses."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support import commit, git, wait_until
from tests.trial.program import PATIENCE_SECONDS, Trial

PLAN = "blackbird.plan.json"


@pytest.fixture
def trial(repo: Path) -> Trial:
    """A plan in git with the merge driver: a and b below p, which is reviewed, c, and run beside it."""
    commit(repo, {".gitignore": ".blackbird\n"}, "start")
    trial = Trial(repo)
    trial.expect(0, "init", "--hooks", "--statuses", "lasting")
    trial.configure({"agent": "demo", "execution.commit": "approved"})
    trial.expect(0, "add", "--title", "p")
    for task_id in ("a", "b"):
        trial.expect(0, "add", "--title", task_id, "--parent", "p", "--prompt", f"write {task_id}.txt x")
    for task_id in ("c", "d"):
        trial.expect(0, "add", "--title", task_id, "--prompt", f"write {task_id}.txt x")
    git(repo, "add", PLAN)
    git(repo, "commit", "-q", "-m", "plan")
    git(repo, "branch", "side")
    return trial


def work(trial: Trial, *tasks: str) -> None:
    for task in tasks:
        trial.expect(3, "execute", task, "--no-input")
        trial.expect(0, "decide", task, "--approve")


def bytes_of(trial: Trial) -> bytes:
    return (trial.repo / PLAN).read_bytes()


def edit_side(trial: Trial) -> None:
    """Edit another task on the branch from before, and be back."""
    git(trial.repo, "switch", "-q", "side")
    trial.expect(0, "edit", "d", "--title", "D of the side")
    git(trial.repo, "commit", "-q", "-m", "edit", PLAN)
    git(trial.repo, "switch", "-q", "main")


def switch(trial: Trial) -> None:
    git(trial.repo, "switch", "-q", "side")
    trial.expect(0, "list")
    assert trial.statuses()["a"] == "todo"
    git(trial.repo, "switch", "-q", "main")


def stash(trial: Trial) -> None:
    trial.expect(0, "edit", "d", "--title", "edited")
    git(trial.repo, "stash", "-q")
    assert git(trial.repo, "status", "--porcelain", PLAN) == ""
    git(trial.repo, "stash", "pop", "-q")
    git(trial.repo, "commit", "-q", "-m", "edited", PLAN)


def merge(trial: Trial) -> None:
    edit_side(trial)
    git(trial.repo, "merge", "-q", "--no-edit", "side")


def rebase(trial: Trial) -> None:
    edit_side(trial)
    git(trial.repo, "rebase", "-q", "side")


def cherry_pick(trial: Trial) -> None:
    edit_side(trial)
    git(trial.repo, "switch", "-q", "side")
    git(trial.repo, "cherry-pick", "main")
    git(trial.repo, "branch", "-q", "-f", "main", "side")
    git(trial.repo, "switch", "-q", "main")


OPERATIONS = [switch, stash, merge, rebase, cherry_pick]


@pytest.fixture
def running(trial: Trial, tmp_path: Path) -> Iterator[Callable[[], None]]:
    """An agent at work on b, and what lets it come to its end."""
    work(trial, "a")
    go = tmp_path / "go"
    os.mkfifo(go)
    trial.command(f"touch {tmp_path}/ready; read -r _ <{go}; echo x >b.txt")
    trial.configure({"execution.parentReviewEnabled": "false"})
    process = trial.start("execute", "b", "--no-input")
    wait_until((tmp_path / "ready").exists)

    def end() -> None:
        go.write_text("go\n")
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 3, said

    yield end
    process.kill()


@pytest.mark.exhaustive
@pytest.mark.parametrize("operation", OPERATIONS)
def test_while_a_task_is_done_and_one_waits(trial: Trial, operation: Callable[[Trial], None]) -> None:
    work(trial, "a")
    trial.expect(3, "execute", "c", "--no-input")
    operation(trial)
    assert git(trial.repo, "status", "--porcelain") == "?? c.txt"
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "todo", "d": "todo", "p": "todo"}
    trial.expect(0, "decide", "c", "--approve", "--any-branch")
    assert git(trial.repo, "status", "--porcelain") == ""
    assert trial.statuses()["c"] == "done"
    assert trial.expect(0, "validate") == "OK\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_while_one_runs(
    trial: Trial, running: Callable[[], None], operation: Callable[[Trial], None]
) -> None:
    operation(trial)
    before = bytes_of(trial)
    running()
    assert bytes_of(trial) == before
    assert git(trial.repo, "status", "--porcelain") == "?? b.txt"
    trial.expect(0, "decide", "b", "--approve", "--any-branch")
    assert git(trial.repo, "status", "--porcelain") == ""
    assert trial.statuses() == {"a": "done", "b": "done", "c": "todo", "d": "todo", "p": "done"}


@pytest.mark.exhaustive
def test_a_stash_comes_back_over_what_ends_meanwhile(trial: Trial, running: Callable[[], None]) -> None:
    trial.configure({"plan.statuses": "all"})
    trial.expect(0, "add", "--id", "e", "--title", "e")
    git(trial.repo, "stash", "-q")
    stashed = bytes_of(trial)
    running()
    assert "b  WAITING_USER  b" in trial.expect(0, "list")
    assert bytes_of(trial) == stashed
    git(trial.repo, "stash", "pop", "-q")
    assert "b  WAITING_USER  b\nc  READY" in trial.expect(0, "list")
    trial.expect(0, "decide", "b", "--approve", "--no-commit")
    assert trial.statuses() == {"a": "done", "b": "done", "c": "todo", "d": "todo", "e": "todo", "p": "done"}


def checkout_old(trial: Trial) -> None:
    git(trial.repo, "checkout", "-q", "side", "--", PLAN)


def reset_hard(trial: Trial) -> None:
    git(trial.repo, "reset", "-q", "--hard", "side")


def stash_old(trial: Trial) -> None:
    git(trial.repo, "reset", "-q", "--soft", "side")
    git(trial.repo, "stash", "-q")


@pytest.mark.exhaustive
@pytest.mark.parametrize("take_back", [checkout_old, reset_hard, stash_old])
def test_a_plan_that_git_took_back_becomes_the_one_that_was_committed(
    trial: Trial, take_back: Callable[[Trial], None]
) -> None:
    work(trial, "a", "b")
    trial.expect(3, "execute", "--no-input")
    work(trial, "d")
    trial.expect(0, "decide", "c", "--approve")
    assert git(trial.repo, "status", "--porcelain") == ""
    last = bytes_of(trial)
    take_back(trial)
    assert bytes_of(trial) != last
    if take_back is stash_old:
        trial.expect(0, "execute", "--no-input")
        git(trial.repo, "stash", "pop", "-q")
    trial.expect(0, "execute", "--no-input")
    assert bytes_of(trial) == last
    assert len(trial.records("p")) == 1


def test_work_that_is_merged_from_a_clone_is_done_here(trial: Trial, tmp_path: Path) -> None:
    there = tmp_path / "there"
    git(trial.repo, "clone", "-q", ".", str(there))
    clone = Trial(there)
    clone.configure({"agent": "demo", "execution.commit": "approved", "plan.statuses": "lasting"})
    clone.configure({"execution.stopAfterEachTask": "true"})
    clone.expect(0, "hooks", "install")
    work(clone, "a", "c")
    work(trial, "d")
    pull = subprocess.run(
        ["git", "pull", "-q", "--no-rebase", "--no-edit", str(there), "main"],
        cwd=trial.repo,
        env=trial.all_variables(),
        capture_output=True,
        check=False,
    )
    assert pull.returncode == 0, pull.stderr
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "done", "d": "done", "p": "todo"}
    work(trial, "b")
    trial.expect(0, "execute", "--no-input")
    assert trial.statuses()["p"] == "done"
    assert len(trial.records("p")) == 1
