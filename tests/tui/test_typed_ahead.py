"""Keys that are typed before what they are meant for is there."""

from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea

from git_blackbird.model.run.states import DecisionState
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.request import RequestScreen
from tests.controller.support import configure, execute, leaf, put_plan, runs_of
from tests.support import commit
from tests.tui.driver import drive, see, wait_for


@pytest.fixture
def planned(repo: Path) -> Path:
    commit(repo, {"README.md": "# Here\n"})
    configure(repo, agent="demo", execution__stopAfterEachTask="true")
    put_plan(repo, leaf("alpha", "write a.txt one"))
    execute(repo)
    return repo


def typed(app: BlackbirdApp, *keys: str) -> None:
    """Type keys as a terminal reports them that were typed, or pasted, before one of them was read."""
    for key in keys:
        app.post_message(Key(key, key if len(key) == 1 else None))


TEXTS: dict[type[Screen[Any]], tuple[str, ...]] = {
    RequestScreen: ("3", "enter"),
    CommentScreen: ("v", "c"),
}


@pytest.mark.parametrize("screen", TEXTS)
def test_what_is_typed_behind_a_key_that_opens_a_text_is_its_text(
    planned: Path, screen: type[Screen[Any]]
) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("d")
        await see(app, pilot, "of 1 read")
        typed(app, *TEXTS[screen], *"moz")
        await wait_for(pilot, lambda: isinstance(app.screen, screen))
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).text == "moz")
        await pilot.press("escape")
        await see(app, pilot, "0 of 1 read")

    drive(planned, session)


def test_what_is_typed_behind_a_key_of_the_plan_waits_for_a_text_and_decides_nothing(planned: Path) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await see(app, pilot, "decision due")
        typed(app, "m", *"moz")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await wait_for(pilot, lambda: app.screen.query_one(TextArea).text == "moz")
        await pilot.press("escape")
        typed(app, "d", "1", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
        await see(app, pilot, "esc leaves it open")

    drive(planned, session)
    assert [run.decision_state for run in runs_of(planned, "alpha")] == [DecisionState.PENDING]
