"""The real Claude Code at its budget: paused with what it cost, and going on in its session."""

import re
from pathlib import Path

import pytest

from tests.records import fact
from tests.standin.install import EVERY_CLAUDE, Program
from tests.standin.real import real
from tests.standin.server import Reply, StandIn
from tests.support import commit
from tests.trial.program import Record, Trial
from tests.trial.real_trial import assert_one_session, enlist

_STEPS = 30


@pytest.fixture
def trial(repo: Path, tmp_path: Path, program: Program, model: StandIn) -> Trial:
    commit(repo, {"old.txt": "one\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent})
    trial.plan({"greet": (), "part": ("greet",)})
    return trial


def end_of(record: Record) -> tuple[str, str | None]:
    return record["status"], fact(record, "terminal_reason")


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE), indirect=True)
def test_its_tokens_are_counted_while_it_works(trial: Trial, model: StandIn) -> None:
    speech, made = model.dialect, trial.repo / "made.txt"
    model.tell(
        Reply("I write.", (speech.writes(made, "x\n"),)),
        Reply("I wait.", (speech.shell("tail -f /dev/null"),)),
    )
    said = trial.expect(4, "execute", "--no-input", "--budget", "tokens=200")
    told = r"greet is paused: its budget is spent\nthe budget of the call is spent: \d+ tokens of 200\n"
    assert re.search(told, said)
    assert "next step: git blackbird execute --budget tokens=200 --no-input    # has a budget" in said
    (paused,) = trial.records("greet")
    assert end_of(paused) == ("paused", "budget")
    # What it cost is known where it had the time to say so before it was stopped.
    assert fact(paused, "usage")["input_tokens"] >= 200
    model.tell("It is made.", Reply("I write.", (speech.writes(trial.repo / "part.txt", "x\n"),)), "Done.")
    trial.expect(0, "execute", "--no-input")
    assert_one_session(trial.records("greet"))
    assert trial.statuses() == {"greet": "done", "part": "done"}


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real(*EVERY_CLAUDE), indirect=True)
def test_it_stops_by_itself_at_the_cost_that_is_left(trial: Trial, model: StandIn) -> None:
    trial.configure({"budget.task.usd": "0.01"})
    model.tell(*(Reply("A step.", (model.dialect.shell(f"echo {step}"),)) for step in range(_STEPS)))
    said = trial.expect(4, "execute", "--no-input")
    assert "the budget of greet is spent: 0.01 USD of 0.01\n" in said
    (paused,) = trial.records("greet")
    assert end_of(paused) == ("paused", "budget")
    assert fact(paused, "cost_usd") >= 0.01
    asked = len(model.requests)
    assert asked < _STEPS
    trial.expect(4, "resume", "greet", "--no-input")
    assert len(model.requests) == asked
