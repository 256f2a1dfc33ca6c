"""A change of many files: its list keeps its shape, and comments on it are found again."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.screens.checkpoint import CheckpointScreen
from git_blackbird.tui.screens.comment import CommentScreen
from git_blackbird.tui.screens.request import RequestScreen
from git_blackbird.tui.widgets.diff.view import DiffView
from git_blackbird.tui.widgets.file_list import FileList
from tests.controller.support import configure, execute, leaf, put_plan
from tests.tui.driver import drive, screen_text, see, wait_for

PATHS = [f"app/customer_{number:02}/export.py" for number in range(40)]
LONG = "word " * 30
WRITES = "\n".join(f"write {path} if x:\\n    {LONG}" for path in PATHS)
PROMPT = f"{WRITES}\non-feedback write {PATHS[9]} if x:\\n    y\\n    z\\n    end"
SIZE = (120, 36)


def rows_of(app: BlackbirdApp) -> list[str]:
    """Return the rows of the list as they are shown."""
    region = app.screen.query_one(FileList).region
    lines = screen_text(app).splitlines()[region.y + 1 : region.bottom - 1]
    return [line[region.x + 1 : region.right - 1] for line in lines]


def put_large_change(repo: Path) -> None:
    configure(repo, execution__stopAfterEachTask="true")
    task = replace(leaf("alpha", PROMPT), description="Export\n    every customer.")
    put_plan(repo, task)
    execute(repo)


async def decide(app: BlackbirdApp, pilot: Pilot[None]) -> None:
    await pilot.press("d")
    await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))
    await see(app, pilot, "of 40 read")


@pytest.mark.exhaustive
def test_the_list_of_files_keeps_one_row_for_each_and_is_gone_through(planned: Path) -> None:
    put_large_change(planned)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        def current() -> str | None:
            file = app.screen.query_one(FileList).current
            return None if file is None else file.path

        await decide(app, pilot)
        rows = ["  Overview", *(f"  A {path}  +2 -0" for path in PATHS)]
        shown = rows_of(app)
        assert [row.rstrip(" ▁▂▃▄▅▆▇█") for row in shown] == rows[: len(shown)]
        # What is marked leaves every file its row; the signs are told below the list.
        await pilot.press("v", "m", "m", "o")
        await see(app, pilot, "2 of 40 read", "✓ read  ✗ left out")
        rows[1:4] = [f"✓{rows[1][1:]}", f"✓{rows[2][1:]}", f"✗{rows[3][1:]}"]
        assert [row.rstrip(" ▁▂▃▄▅▆▇█") for row in rows_of(app)] == rows[: len(shown)]
        # On the file before, m takes its mark away.
        await pilot.press("[", "m")
        await see(app, pilot, "1 of 40 read")
        assert current() == PATHS[1]
        # With the focus, the list has the page keys for itself.
        await pilot.press("shift+tab")
        await see(app, pilot, "enter goes to what is shown, / finds a name", "V overview")
        page = len(rows_of(app))
        await pilot.press("pagedown")
        assert current() == PATHS[1 + page]
        await pilot.press("end")
        assert current() == PATHS[-1]
        await see(app, pilot, "file 40 of 40")
        await pilot.press("home")
        assert current() == PATHS[0]
        await pilot.press("slash", *"r_1")
        await see(app, pilot, "10 of 40 files", "file 11 of 40", "enter stays there, down the next one,")
        await pilot.press("down", "enter")
        assert current() == PATHS[11]
        await pilot.press("slash", *"39", "escape")
        assert current() == PATHS[11]
        await pilot.press("question_mark")
        await see(app, pilot, "Search a file by its name", "Next comment or finding")
        await pilot.press("slash", *"page up")
        await see(app, pilot, "Page up")
        await pilot.press("ctrl+u", *"mark")
        await see(app, pilot, "on a read one, take the mark away")

    drive(planned, session, SIZE)


@pytest.mark.exhaustive
def test_comments_on_a_large_change_are_found_again(planned: Path) -> None:
    put_large_change(planned)

    async def comment(app: BlackbirdApp, pilot: Pilot[None], text: str, key: str) -> None:
        await pilot.press("c")
        await wait_for(pilot, lambda: isinstance(app.screen, CommentScreen))
        await pilot.press(*text, key)
        await wait_for(pilot, lambda: isinstance(app.screen, CheckpointScreen))

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await decide(app, pilot)
        await see(app, pilot, "Description:", "    every customer.", "Prompt:")
        await pilot.press("v", "w", "j", "j", "v", "j")
        await see(app, pilot, "move to the end of the range")
        await comment(app, pilot, "here", "ctrl+s")
        assert "the end of the range" not in screen_text(app)
        await pilot.press("]", "j", "j")
        await comment(app, pilot, "unwanted", "ctrl+r")
        await pilot.press(*"]" * 8, "j", "j", "j")
        await comment(app, pilot, "there", "escape")
        await pilot.press("left_curly_bracket")
        await see(app, pilot, "2 comments", "* commented", "commented line 1 of 2", "┃ you (lines 1-2): here")
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        await see(app, pilot, "file 10 of 40", "the last comment or finding")
        await pilot.press("V")
        await see(app, pilot, "Your comments, not sent yet:", f"{PATHS[0]}:1-2: here", f"{PATHS[9]}:2: there")
        assert "unwanted" not in screen_text(app)
        await pilot.press("escape")
        await see(app, pilot, "2 comments are kept for when you decide")
        await decide(app, pilot)
        await pilot.press("3", "enter")
        await wait_for(pilot, lambda: isinstance(app.screen, RequestScreen))
        await pilot.press("ctrl+s")
        # What was requested keeps its indentation, its files their sign, and diffs how they are shown.
        await see(app, pilot, "round 2", f"  > > +    {LONG[:20]}", "* commented", f" *A {PATHS[9]}")
        await pilot.press("v")
        assert app.screen.query_one(DiffView).is_wrapped
        await pilot.press("3", "enter")
        await see(app, pilot, "What you requested before is sent again with this")

    drive(planned, session, SIZE)
