"""The main screens as pictures: what is on them, where, and in which colours."""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.model.base.ids import TaskId
from git_blackbird.tui.app import BlackbirdApp
from git_blackbird.tui.widgets.diff.view import DiffView
from tests.controller.support import configure, put_plan
from tests.support import commit, write
from tests.tui.driver import SIZE, QuickApp, Session, screen_text, wait_for
from tests.tui.pictures import Album
from tests.tui.scene import at_work, environment_of, put_scene

LARGE = (110, 32)


@pytest.fixture(autouse=True)
def unseen() -> None:
    """Draw all that a terminal would get: screens behind others are on the pictures too."""


@pytest.fixture(autouse=True)
def in_colours_and_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "COLORFGBG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def album(tmp_path: Path) -> Album:
    return Album(tmp_path)


@pytest.fixture
def project(repo: Path) -> Path:
    """The scene without an active agent: starting one finds no lock."""
    put_scene(repo, dict(os.environ))
    return repo


@pytest.fixture
def busy(repo: Path) -> Iterator[Path]:
    """The scene with an agent at work."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as agent:
        put_scene(repo, dict(os.environ), at_work(repo, agent.pid))
        yield repo
        agent.communicate(b"\n")


def look(repo: Path, session: Session, album: Album, size: tuple[int, int] = SIZE) -> None:
    """Open the application at the fixed moment, and compare its pictures."""

    async def run() -> None:
        environment = environment_of(repo, dict(os.environ))
        app = QuickApp(environment, WorktreeWatcher(environment))
        app.animation_level = "none"
        async with app.run_test(size=size) as pilot:
            await wait_for(pilot, lambda: app.view_state is not None)
            await session(app, pilot)

    asyncio.run(run())
    album.close()


def still(app: BlackbirdApp) -> None:
    """Stop the cursors from blinking."""
    for area in app.screen.query(TextArea):
        area.cursor_blink = False
    for box in app.screen.query(Input):
        box.cursor_blink = False


async def see(app: BlackbirdApp, pilot: Pilot[None], *texts: str) -> None:
    """Wait until all texts are on the screen."""
    await wait_for(pilot, lambda: all(text in screen_text(app) for text in texts))


def test_the_plan_and_what_happens_in_it(busy: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down")
        await see(app, pilot, "its dependency api-cache")
        await album.check(app, pilot, "plan")
        await pilot.press("t")
        await see(app, pilot, "I mend the comparison", "28.0k tokens")
        await album.check(app, pilot, "live")

    look(busy, session, album, LARGE)


def test_the_plan_on_a_light_terminal(project: Path, album: Album, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "down", "down")
        await see(app, pilot, "Runs")
        await album.check(app, pilot, "light")

    look(project, session, album)


def test_a_plan_without_tasks(repo: Path, album: Album) -> None:
    commit(repo, {"README.md": "# Weather\n"})
    put_plan(repo)

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await album.check(app, pilot, "empty")

    look(repo, session, album)


def test_what_is_searched_and_filtered(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("f", "slash", *"cli")
        still(app)
        await see(app, pilot, "filter ready: ", "search cli: ")
        await album.check(app, pilot, "search")

    look(project, session, album)


def test_keys_and_actions_are_listed(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await album.check(app, pilot, "help")
        await pilot.press("escape", "ctrl+p", *"run")
        still(app)
        await see(app, pilot, "Runs: the task's runs")
        await album.check(app, pilot, "palette")

    look(project, session, album)


def test_what_is_chosen_from(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("down", "s")
        await see(app, pilot, "1. todo")
        await album.check(app, pilot, "status")
        await pilot.press("escape", "down", "down", "h")
        await see(app, pilot, "execute  success", "14 tests pass")
        await album.check(app, pilot, "runs")
        await pilot.press("escape")

    look(project, session, album)


def test_the_layers_of_the_configuration(project: Path, sealed: Path, album: Album) -> None:
    configure(project, claude__model="opus", execution__stopAfterEachTask="true")
    write(sealed, {".blackbird/config.json": '{"schemaVersion": 1, "claude": {"model": "sonnet"}}'})

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        await pilot.press("c")
        await see(app, pilot, "claude.model")
        await pilot.press("down", "down", "down")
        await see(app, pilot, "config.json")
        await album.check(app, pilot, "settings")

    look(project, session, album)


def test_a_decision_is_asked_for(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(TaskId("cli-units"))
        await pilot.press("d")
        await see(app, pilot, "1. Approve", "weather/units.py")
        await album.check(app, pilot, "checkpoint")
        await pilot.press("v")
        await see(app, pilot, "+ FREEZING")
        view = app.screen.query_one(DiffView)
        await wait_for(pilot, lambda: view.is_colored)
        await album.check(app, pilot, "diff")
        await pilot.press("3", "enter", *"Round as in @weather/")
        await see(app, pilot, "weather/__init__.py")
        still(app)
        await album.check(app, pilot, "request")

    look(project, session, album, LARGE)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(60, 20), (100, 30), (200, 60)])
def test_a_change_is_reviewed_at_any_size(project: Path, album: Album, size: tuple[int, int]) -> None:
    columns = size[0]

    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(TaskId("cli-units"))
        await album.check(app, pilot, f"plan-{columns}")
        await pilot.press("d")
        await see(app, pilot, "0 of 2 read", "1. Approve")
        await album.check(app, pilot, f"checkpoint-{columns}")
        await pilot.press("v", *("s" if columns >= 140 else ""))
        await pilot.press("right_square_bracket")
        await see(app, pilot, "+ FREEZING")
        view = app.screen.query_one(DiffView)
        await wait_for(pilot, lambda: view.is_colored)
        await album.check(app, pilot, f"diff-{columns}")

    look(project, session, album, size)


def test_an_agent_asks(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(TaskId("cli-colors"))
        await pilot.press("u")
        await see(app, pilot, "2. green")
        await album.check(app, pilot, "question")

    look(project, session, album)


def test_a_review_holds_a_parent_back(project: Path, album: Album) -> None:
    async def session(app: BlackbirdApp, pilot: Pilot[None]) -> None:
        app.main.plan_tree.select(TaskId("past"))
        await pilot.press("p")
        await see(app, pilot, "1. Resume past-write")
        await album.check(app, pilot, "review")

    look(project, session, album)
