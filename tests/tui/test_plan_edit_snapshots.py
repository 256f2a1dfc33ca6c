"""The screens that edit the plan as pictures."""

from pathlib import Path

from textual.pilot import Pilot

from git_blackbird.tui.app import BlackbirdApp
from tests.tui.pictures import Album
from tests.tui.test_snapshots import album, in_colours_and_utc, look, project, see, still, unseen

__all__ = ["album", "in_colours_and_utc", "project", "unseen"]

SIZE = (60, 20)


def test_the_plan_is_edited(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        shown = {
            "E": ("form", "Prompt"),
            "D": ("delete", "would"),
            "M": ("move", "p chooses"),
            "G": ("graph", "Comes"),
        }
        for key, (name, text) in shown.items():
            await pilot.press(key)
            await see(app, pilot, text)
            still(app)
            await album.check(app, pilot, f"plan-{name}")
            await pilot.press("escape")
        await pilot.press("B")
        await see(app, pilot, "Marked:")
        await pilot.press("down")
        still(app)
        await album.check(app, pilot, "plan-deps")
        await pilot.press("escape")
        BlackbirdApp.action_execute(app)
        await see(app, pilot, "enter starts it")
        await album.check(app, pilot, "plan-start")

    look(project, session, album, SIZE)
