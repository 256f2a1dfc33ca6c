"""A decision that comes up by itself waits while a dialog is open or a text is being written."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from git_blackbird.controller.change.decide.record import record_decision
from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.modal import ChoiceModal, HelpScreen
from git_blackbird.tui.screens.questions import QuestionScreen
from git_blackbird.tui.screens.task_form import TaskForm
from tests.controller.support import APPROVE, configure, leaf, open_at, put_plan, runs_of
from tests.support import commit
from tests.tui.driver import drive, is_over, screen_text, see, wait_for

CLOSING = "decision on alpha: it opens when this is closed"
BY_KEY = "decision on alpha: a opens it"


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"))
    return repo


def states(repo: Path) -> list[DecisionState | None]:
    return [run.decision_state for run in runs_of(repo, "alpha")]


def asks(app: BlackbirdApp, screen: type[object]) -> bool:
    return isinstance(app.screen, screen)


@pytest.mark.exhaustive
def test_what_is_written_in_a_form_decides_nothing(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("A")
        await wait_for(pilot, lambda: asks(app, ChoiceModal))
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, TaskForm))
        app.commands.execute()
        await see(app, pilot, CLOSING)
        await pilot.press(*"a 4", "tab", "enter", *"1")
        assert asks(app, TaskForm)
        assert app.screen.query_one("#title", Input).value == "a 4"
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        assert CLOSING not in screen_text(app)
        await pilot.press("1", "enter")
        # The new task was not named: it waited behind the form in which that was written.
        await see(app, pilot, "Approve and continue with a-4")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: states(planned) == [DecisionState.APPROVED_CONTINUE])

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_where_nothing_is_written_a_opens_what_waits(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: asks(app, HelpScreen))
        app.commands.execute()
        await see(app, pilot, BY_KEY)
        await pilot.press("slash", "a")
        assert app.screen.query_one(Input).value == "a"
        await see(app, pilot, CLOSING)
        await pilot.press("enter", "a")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        await pilot.press("escape")
        # The help is still there.
        await wait_for(pilot, lambda: asks(app, HelpScreen) and is_over(app))
        assert BY_KEY not in screen_text(app)

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_a_search_on_the_plan_goes_on(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"alp")
        app.commands.execute()
        await see(app, pilot, CLOSING)
        await pilot.press(*"ha")
        assert app.main.plan_tree.searched == "alpha"
        await pilot.press("enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_what_was_decided_elsewhere_waits_no_more(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: asks(app, HelpScreen))
        app.commands.execute()
        await see(app, pilot, BY_KEY)
        record_decision(open_at(planned), "alpha", APPROVE)
        await wait_for(pilot, lambda: is_over(app))
        await wait_for(pilot, lambda: "decision on alpha" not in screen_text(app))
        assert asks(app, HelpScreen)

    drive(planned, session, (100, 40))


@pytest.mark.exhaustive
def test_a_question_waits_as_well(planned: Path) -> None:
    put_plan(planned, leaf("alpha", "ask tone Which? | kind | brief\nanswered tone b.txt"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await see(app, pilot, "Search for commands")
        app.commands.execute()
        await see(app, pilot, "question of alpha: it opens when this is closed")
        await pilot.press("escape")
        await wait_for(pilot, lambda: asks(app, QuestionScreen))
        await pilot.press("escape")

    drive(planned, session, (100, 40))


def test_those_of_several_agents_open_one_after_another(planned: Path) -> None:
    configure(planned, execution__jobs="2")
    put_plan(planned, leaf("alpha", "write a.txt one"), leaf("beta", "write b.txt one"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def is_first() -> bool:
            return "decision on alpha: a" in screen_text(app) or "decision on beta: a" in screen_text(app)

        await pilot.press("question_mark")
        await wait_for(pilot, lambda: asks(app, HelpScreen))
        app.commands.execute()
        await wait_for(pilot, is_first)
        await pilot.press("escape")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen))
        first = app.screen
        await see(app, pilot, "1. Approve")
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: asks(app, CheckpointScreen) and app.screen is not first)
        await pilot.press("1", "enter")
        await wait_for(pilot, lambda: is_over(app))

    drive(planned, session, (100, 40))
    assert states(planned) == [DecisionState.APPROVED_CONTINUE]
    assert [run.decision_state for run in runs_of(planned, "beta")] == [DecisionState.APPROVED_CONTINUE]
