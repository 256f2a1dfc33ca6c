"""What goes wrong when an agent plans on the screen: little room, long texts, refusals, and interruptions."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import OptionList

from git_blackbird.model.base.ids import PLANNING
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.modal import ChoiceModal
from tests.controller.support import put_plan
from tests.tui.driver import drive, is_over, see, wait_for
from tests.tui.test_planning import describe, proposed

MANY = "\n".join(f"- Task {number} of a plan that is long | Write file{number}.txt." for number in range(60))
SMALL = (60, 20)


@pytest.fixture
def empty(planned: Path) -> Path:
    put_plan(planned)
    return planned


async def opened(app: BlackbirdApp, pilot: Pilot[None], choice: str) -> None:
    """Open what is asked first where there are tasks, and choose."""
    await pilot.press("P")
    await wait_for(pilot, lambda: isinstance(app.screen, ChoiceModal))
    await pilot.press(choice, "enter")


def kept_text(app: BlackbirdApp) -> str:
    return app.drafts.message(PLANNING).text


def test_all_choices_are_in_view_below_a_long_proposal(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, MANY)
        await proposed(app, pilot)
        await see(app, pilot, "new: 60 tasks", "0. Stop here", "1. Accept it", "3. Edit it", "enter chooses")
        await pilot.press("x")
        await see(app, pilot, "no key does that here", "0. Stop here", "3. Edit it")
        await pilot.press("ctrl+end")
        await see(app, pilot, "Task 59 of a plan", "3. Edit it")
        assert app.screen.query_one(OptionList).highlighted == 0
        await pilot.press("escape")
        await wait_for(pilot, lambda: is_over(app))

    drive(empty, session, SMALL)


def test_a_long_line_is_shown_to_its_end(empty: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await describe(app, pilot, f"- One | {'word ' * 1000}and the end.")
        await proposed(app, pilot)
        await pilot.press("ctrl+end")
        await see(app, pilot, "and the end.")

    drive(empty, session)
