"""A decision on a terminal of 60 columns and 20 lines: there is room to read."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.widgets.diff.view import DiffView
from tests.controller.support import configure, execute, leaf, put_plan
from tests.tui.driver import drive, screen_text, see, wait_for

LINES = "\\n".join(f"line {number}" for number in range(40))


@pytest.mark.exhaustive
def test_half_of_a_small_screen_is_diff(planned: Path) -> None:
    configure(planned, execution__stopAfterEachTask="true")
    put_plan(planned, leaf("alpha", f"write a.txt {LINES}\nwrite b.txt two\nwrite c.txt three"))
    execute(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await see(app, pilot, "0 of 3 read")
        await pilot.press("v")
        await see(app, pilot, "+ line 3")
        assert app.screen.query_one(DiffView).size.height >= 10, screen_text(app)
        # The list has the file that is read alone.
        assert " A a.txt" in screen_text(app)
        assert " A b.txt" not in screen_text(app)
        # The files and the choices are there again where they have the focus.
        await pilot.press("V")
        await see(app, pilot, "1. Approve", " A b.txt")
        await pilot.press("v", "tab")
        await see(app, pilot, "1. Approve")

    drive(planned, session, (60, 20))
