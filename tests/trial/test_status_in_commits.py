"""Commits of changes take the status of their task in the plan along."""

import json
from pathlib import Path

import pytest

from tests.support import commit, git
from tests.trial.program import Trial

PLAN = "blackbird.plan.json"


def set_up(repo: Path, statuses: str = "lasting") -> Trial:
    """A plan in git: a and b below p, c beside it; approvals commit."""
    commit(repo, {".gitignore": ".blackbird\n"})
    trial = Trial(repo)
    trial.expect(0, "init", "--no-hooks", "--statuses", statuses)
    trial.configure(
        {"agent": "demo", "execution.commit": "approved", "execution.parentReviewEnabled": "false"}
    )
    trial.expect(0, "add", "--title", "p")
    for task_id in ("a", "b"):
        trial.expect(0, "add", "--title", task_id, "--parent", "p", "--prompt", f"write {task_id}.txt x")
    trial.expect(0, "add", "--title", "c", "--prompt", "write c.txt x")
    commit_plan(trial)
    return trial


def commit_plan(trial: Trial) -> None:
    git(trial.repo, "add", PLAN)
    git(trial.repo, "commit", "-q", "-m", "plan")


@pytest.fixture
def trial(repo: Path) -> Trial:
    return set_up(repo)


def is_clean(trial: Trial) -> bool:
    return git(trial.repo, "status", "--porcelain") == ""


def committed(trial: Trial, revision: str = "HEAD") -> dict[str, str]:
    plan = json.loads(git(trial.repo, "show", f"{revision}:{PLAN}"))
    return {task: item["status"] for task, item in sorted(plan["items"].items())}


def work(trial: Trial, *tasks: str) -> None:
    for task in tasks:
        trial.expect(3, "execute", task, "--no-input")
        trial.expect(0, "decide", task, "--approve")


def test_an_approval_commits_that_its_task_is_done_and_the_parent_with_its_last(trial: Trial) -> None:
    work(trial, "a")
    assert committed(trial) == {"a": "done", "b": "todo", "c": "todo", "p": "todo"}
    assert is_clean(trial)
    work(trial, "b")
    assert committed(trial) == {"a": "done", "b": "done", "c": "todo", "p": "done"}
    assert git(trial.repo, "show", "--name-only", "--format=%s").split() == ["b", "b.txt", PLAN]
    assert is_clean(trial)
