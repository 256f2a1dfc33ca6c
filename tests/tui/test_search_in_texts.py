"""Searching in logs, in the overview of a decision and in the configuration."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.settings import SettingsScreen, SettingsTable
from tests.controller.support import configure, execute, leaf, put_plan
from tests.tui.driver import drive, screen_text, see, wait_for

SAID = "\n".join(f"say number {number} is {'odd' if number % 2 else 'even'}" for number in range(60))


@pytest.mark.exhaustive
def test_the_log_of_a_run_is_searched(planned: Path) -> None:
    put_plan(planned, leaf("alpha", f"{SAID}\nwrite a.txt one"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("h")
        await see(app, pilot, "execute  success")
        await pilot.press("slash", *"NUMBER 41", "enter")
        await see(app, pilot, "no line has NUMBER 41")
        await pilot.press("slash", *"number 41", "enter")
        await see(app, pilot, "number 41 is odd")
        await pilot.press("slash", *"number 4", "enter")
        await see(app, pilot, "number 42 is even")
        await pilot.press("n", "n", "n", "n", "n", "n", "n", "n")
        await see(app, pilot, "number 4 is even")
        await pilot.press("N")
        await see(app, pilot, "number 49 is odd")
        await pilot.press("slash", *"nowhere", "enter")
        await see(app, pilot, "no line has nowhere")

    drive(planned, session, (100, 20))


@pytest.mark.exhaustive
def test_the_overview_is_searched_where_it_has_the_focus(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", f"{SAID}\nwrite a.txt one"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await pilot.press("tab", "tab", "slash", *"agent says", "enter")
        await see(app, pilot, "number 59 is odd")
        assert "+ one" not in screen_text(app)
        # Elsewhere the diff is searched.
        await pilot.press("tab", "slash", *"one", "enter")
        await see(app, pilot, "match 1 of 1")

    drive(planned, session, (100, 19))


def test_a_key_of_the_configuration_is_found(planned: Path) -> None:
    put_plan(planned, leaf("alpha"))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def current() -> str:
            row = app.screen.query_one(SettingsTable).current
            return "" if row is None else str(getattr(row, "name", row))

        await pilot.press("c")
        await wait_for(pilot, lambda: isinstance(app.screen, SettingsScreen))
        await see(app, pilot, "claude.path", "/ searches")
        await pilot.press("slash", *"reviews.m", "enter")
        await wait_for(pilot, lambda: "reviews.m" in current())
        first = current()
        await pilot.press("n")
        await wait_for(pilot, lambda: current() != first)
        await pilot.press("N")
        await wait_for(pilot, lambda: current() == first)
        await pilot.press("slash", "x", "escape")
        assert isinstance(app.screen, SettingsScreen)

    drive(planned, session, (100, 30))
