"""Keys that are pressed without meaning much stop, start and decide nothing."""

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.states import DecisionState, RunStatus
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.keys import ACTIONS
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal
from git_blackbird.tui.screens.plan_edit import LinesScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.widgets.choices import ChoiceRow
from tests.controller.support import configure, execute, leaf, parent_of, put_plan, runs_of
from tests.support import commit
from tests.tui.driver import PATIENCE_SECONDS, QuickApp, RealApp, drive, is_over, screen_text, see, wait_for


class AskingApp(QuickApp):
    """Shows what it is about to start, as the real one does."""

    def action_execute_task(self) -> None:
        BlackbirdApp.action_execute_task(self)


class PatientApp(QuickApp):
    """Drops keys for a moment, as the real one does, and a longer one: on a busy machine keys come late."""

    pause_seconds = 2.0


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"))
    return repo


def asks(app: BlackbirdApp, screen: type[object]) -> bool:
    return isinstance(app.screen, screen)


def test_a_question_without_remarks_has_nothing_to_scroll(planned: Path) -> None:
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("w")
        await see(app, pilot, "1. Leave it")
        await pilot.press("pagedown", "pageup", "ctrl+end", "ctrl+home")
        await see(app, pilot, "1. Leave it")
        await pilot.press("escape")

    drive(planned, session)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("key", ["escape", "q"])
@pytest.mark.parametrize("prompt", ["write a.txt one", "ask db Which? | one | two"])
def test_who_leaves_a_decision_or_question_stops_nobody(planned: Path, key: str, prompt: str) -> None:
    configure(planned, execution__jobs="2")
    put_plan(planned, leaf("alpha", prompt), leaf("beta", "sleep 2\nwrite b.txt one"))
    screen = CheckpointScreen if prompt.startswith("write") else QuestionScreen

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.commands.execute()
        await wait_for(pilot, lambda: asks(app, screen))
        await pilot.press(key)
        await wait_for(pilot, lambda: app.screen is app.main)
        assert app.is_busy
        # The other one comes to its own decision.
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await see(app, pilot, "Task: beta")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    (alpha,), (beta,) = runs_of(planned, "alpha"), runs_of(planned, "beta")
    assert alpha.status in {RunStatus.SUCCESS, RunStatus.WAITING_USER}
    assert alpha.decision_state in {DecisionState.PENDING, None}
    assert beta.decision_state is DecisionState.APPROVED_CONTINUE


def test_who_quits_while_agents_work_is_asked_and_told_who_is_paused(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "say Working on it.\nsleep 60"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.commands.execute(TaskId("alpha"))
        await see(app, pilot, "Working on it.", "● alpha")
        await pilot.press("q")
        await see(app, pilot, "alpha is at work", "2. Pause it and quit")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)
        assert app.is_busy
        await pilot.press("ctrl+c")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session)
    assert [run.status for run in runs_of(planned, "alpha")] == [RunStatus.PAUSED]


LETTERS = [action.key for action in ACTIONS if not action.key.startswith("ctrl+") and action.key != "q"]
STATES = {
    "write a.txt one": "a decision is due",
    "ask tone Which? | one | two": "a question is open",
    "fail 3": "it has failed",
    "say Working on it.\nsleep 60": "it is paused",
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("prompt", STATES, ids=list(STATES.values()))
def test_no_key_of_the_plan_changes_a_record_or_starts_anything_unasked(repo: Path, prompt: str) -> None:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask=str("write" in prompt).lower())
    alpha, beta = leaf("alpha", prompt, parent="up"), leaf("beta", parent="up")
    put_plan(repo, parent_of("up", ["alpha", "beta"]), alpha, beta)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.commands.execute(TaskId("alpha"))
        await wait_for(pilot, lambda: bool(runs_of(repo, "alpha")))
        if "sleep" in prompt:
            await see(app, pilot, "Working on it.")
            await pilot.press("ctrl+c")
        else:
            await wait_for(pilot, lambda: is_over(app) or app.screen is not app.main)
            await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app) and app.screen is app.main)
        app.main.plan_tree.select(TaskId("alpha"))
        await wait_for(pilot, lambda: app.check_action("retry", ()) is True)
        before = recorded(repo)
        # What has the focus is the same in each state: one state goes through all panes.
        for place in (("1",), *((tab, "tab") for tab in "12345" if "fail" in prompt)):
            for key in LETTERS:
                app.main.plan_tree.select(TaskId("alpha"))
                app.main.plan_tree.focus()
                await pilot.press(*place, key)
                await left(app, pilot)
                assert recorded(repo) == before, (place, key)

    drive(repo, session, (100, 30), RealApp)
    assert len(runs_of(repo, "alpha")) == 1


async def left(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    """Go back to the plan from whatever a key has opened."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while app.is_opening or app.screen is not app.main or not is_over(app) or isinstance(app.focused, Input):
        assert time.monotonic() < deadline, screen_text(app)
        await pilot.press("escape")


def recorded(repo: Path) -> dict[str, bytes]:
    """Return the plan and all records."""
    folders = (repo / ".git/blackbird/runs", repo / ".blackbird")
    files = (path for folder in folders for path in sorted(folder.rglob("*.json")))
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.exhaustive
def test_a_task_is_restarted_or_run_alone_after_a_question(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="false")
    put_plan(planned, leaf("alpha", "fail 3"), leaf("beta", "write b.txt one"))
    execute(planned, None, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await wait_for(pilot, lambda: app.check_action("restart", ()) is True)
        await pilot.press("w")
        await wait_for(pilot, lambda: asks(app, ChoiceModal))
        await see(app, pilot, "alpha: FAILED", "2. Restart in a new session")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("down", "x")
        await wait_for(pilot, lambda: asks(app, LinesScreen))
        await see(app, pilot, "start", "beta", "enter starts it")
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        assert not app.is_busy

    drive(planned, session, kind=AskingApp)
    assert [len(runs_of(planned, task)) for task in ("alpha", "beta")] == [1, 0]


def test_keys_that_are_held_decide_nothing_until_they_are_let_go(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.commands.execute(TaskId("alpha"))
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        for _ in range(25):
            await pilot.press("enter")
            await pilot.pause(0.1)
        assert asks(app, CheckpointScreen)
        app.accept_input()
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, kind=PatientApp)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.PENDING]


def test_a_click_goes_to_a_choice_and_does_not_take_it(planned: Path) -> None:
    execute(planned, None, "alpha")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        row = app.screen.query_one(ChoiceRow)
        await pilot.click(ChoiceRow, offset=(row.size.width // 2, 0))
        await pilot.pause()
        assert asks(app, CheckpointScreen)
        await pilot.press("escape")
        await wait_for(pilot, lambda: app.screen is app.main)
        await pilot.press("s")
        await wait_for(pilot, lambda: asks(app, ChoiceModal))
        await pilot.click("#choices", offset=(5, 1))
        await pilot.pause()
        assert asks(app, ChoiceModal)
        assert app.screen.query_one("#choices").highlighted == 1  # type: ignore[attr-defined]
        await pilot.press("escape")

    drive(planned, session)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.PENDING]
