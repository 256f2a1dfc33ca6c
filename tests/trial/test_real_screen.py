"""The real agents on the screen: what they do is seen, asked for otherwise in their session, and approved."""

import threading
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.request import RequestScreen
from tests.records import fact
from tests.standin.install import CODEX, Program
from tests.standin.real import real_by
from tests.standin.server import Reply, StandIn
from tests.support import commit
from tests.trial.program import PATIENCE_SECONDS, Trial
from tests.trial.real_trial import assert_one_session, enlist
from tests.tui.driver import drive, screen_text, wait_for
from tests.tui.driver import see as see_soon

SIZE = (110, 40)
see = partial(see_soon, patience_seconds=PATIENCE_SECONDS)


@pytest.fixture
def trial(
    repo: Path, tmp_path: Path, program: Program, model: StandIn, monkeypatch: pytest.MonkeyPatch
) -> Trial:
    commit(repo, {"README.md": "# Here\n"})
    trial = Trial(repo)
    enlist(trial, program, model, tmp_path / "config")
    trial.configure({"agent": program.agent, "execution.stopAfterEachTask": "true"})
    trial.plan({"greet": ()})
    for name, value in trial.environ.items():
        monkeypatch.setenv(name, value)
    return trial


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", real_by(CODEX), indirect=True)
def test_a_task_is_watched_changed_as_asked_and_approved(
    program: Program, trial: Trial, model: StandIn
) -> None:
    speech, greet, seen = model.dialect, trial.repo / "greet.py", threading.Event()
    model.tell(
        Reply("I write.", (speech.writes(greet, "print('hello')\n"),)),
        Reply("It greets.", wait=lambda: seen.wait(PATIENCE_SECONDS)),
        *speech.edits(greet, "print('hello')", "print('goodbye')"),
        "It parts.",
    )
    tells_on_the_way = program.agent == "claude"

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("e")
        if tells_on_the_way:
            # It may do more than edit the worktree.
            await see(app, pilot, "Start the agent claude?")
            await pilot.press("2", "enter")
        await see(app, pilot, "greet  Greet  ", "I write.", "edits greet.py")
        if tells_on_the_way:
            await see(app, pilot, " tokens")
        seen.set()
        await see(app, pilot, "  A greet.py ", "It greets.")
        assert ("cost $" in screen_text(app)) == tells_on_the_way
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await pilot.press(*"Say goodbye.", "ctrl+s")
        await see(app, pilot, "2 runs together", "It parts.")
        await pilot.press("1", "enter")
        await see(app, pilot, "] 1/1 · ", "every task is done")

    drive(trial.repo, session, SIZE)
    records = trial.records("greet")
    assert_one_session(records)
    assert greet.read_text() == "print('goodbye')\n"
    assert [record["decision_state"] for record in records] == ["changes_requested", "approved_continue"]
    assert all(fact(record, "usage")["output_tokens"] > 0 for record in records)
    assert "Say goodbye." in model.prompts()[-1]
