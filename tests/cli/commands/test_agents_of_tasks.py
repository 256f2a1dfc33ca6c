"""Tasks whose agents cannot work: they are named, and those of other agents go on."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.controller.support import agree_to_agent, leaf, put_plan
from tests.support import commit
from tests.trial.program import Trial


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"old.txt": "old\n"})
    trial = Trial(repo)
    trial.command("cat >/dev/null")
    trial.configure({"codex.path": str(repo.parent / "gone")})
    agree_to_agent(repo)
    put_plan(repo, leaf("a"), replace(leaf("b"), agent="codex"), replace(leaf("c"), agent="codex"))
    return trial


@pytest.mark.exhaustive
def test_all_tasks_without_an_agent_are_named(trial: Trial) -> None:
    said = trial.expect(8, "execute", "--no-input", "--no-stop", "--jobs", "3")
    assert "without an agent: b, c\n" in said
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "todo"}


def test_they_are_named_where_tasks_are_worked_on_one_after_the_other(trial: Trial) -> None:
    said = trial.expect(8, "execute", "--no-input", "--no-stop")
    assert "without an agent: b, c\n" in said
    assert trial.statuses() == {"a": "done", "b": "todo", "c": "todo"}
    put_plan(trial.repo, leaf("a"), leaf("b"))
    trial.configure({"agent": "codex"})
    assert "without an agent" not in trial.expect(8, "execute", "--no-input", "--no-stop")


def test_validate_names_an_agent_that_is_not_known(repo: Path) -> None:
    put_plan(repo, replace(leaf("a"), agent="clod"))
    said = Trial(repo).expect(0, "validate")
    names = "claude, codex, command, demo, gemini, opencode"
    assert said == f"warning: a: there is no agent clod\nhint: agents: {names}\nOK\n"
