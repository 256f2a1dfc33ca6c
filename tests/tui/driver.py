"""An application in a terminal of 80 columns and 24 lines, driven by its keys."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from textual.pilot import Pilot

from git_blackbird.controller.core.environment import Environment, system_environment
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.tui.app import BlackbirdApp
from tests import preloaded
from tests.cli.terminal import program_environ

PATIENCE_SECONDS = 30.0
SIZE = (80, 24)
Session = Callable[["BlackbirdApp", Pilot[None]], Awaitable[None]]


# Later than the worlds in which tests prepare a repository.
_AHEAD = max(0, 1_801_000_000_000_000_000 - time.time_ns())


def environment_at(repo: Path) -> Environment:
    return system_environment()._replace(cwd=repo, now=lambda: time.time_ns() + _AHEAD)


def started(repo: Path, *args: str) -> "subprocess.Popen[bytes]":
    """Start the program as another process."""
    command = [sys.executable, "-m", "git_blackbird", *args]
    nowhere = subprocess.DEVNULL
    return preloaded.Popen(command, cwd=repo, env=program_environ(), stdout=nowhere, stderr=nowhere)


class RealApp(BlackbirdApp):
    """Asks before it starts anything, and accepts keys at once."""

    pause_seconds = 0.0


class StartingApp(BlackbirdApp):
    """Executes without asking: what it shows before is tested in test_plan_edits.py."""

    def action_execute(self) -> None:
        self.commands.execute()

    def action_execute_task(self) -> None:
        if (task := self.current) is not None:
            self.commands.execute(task.id)


class QuickApp(StartingApp):
    """Accepts keys at once: tests send them only for the screen that is open."""

    pause_seconds = 0.0


def drive(
    repo: Path, session: Session, size: tuple[int, int] = SIZE, kind: type[BlackbirdApp] = QuickApp
) -> BlackbirdApp:
    """Run the application in a repository with a scripted session; raise its fault, if it has one."""
    app = driven(repo, session, size, kind)
    if app.fault is not None:
        raise app.fault
    return app


def driven(
    repo: Path, session: Session, size: tuple[int, int] = SIZE, kind: type[BlackbirdApp] = QuickApp
) -> BlackbirdApp:
    """Do the same without raising the fault."""

    async def run() -> BlackbirdApp:
        environment = environment_at(repo)
        app = kind(environment, WorktreeWatcher(environment))
        app.animation_level = "none"
        try:
            async with app.run_test(size=size, notifications=True) as pilot:
                await wait_for(pilot, lambda: app.view_state is not None)
                await session(app, pilot)
        except Exception as error:  # noqa: BLE001  # raised again
            # The fault says more than what is missing on the screen.
            raise app.fault or error from None
        return app

    return asyncio.run(run())


async def wait_for(
    pilot: Pilot[None], holds: Callable[[], bool], patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until a condition holds; fail after ``patience_seconds``."""
    deadline = time.monotonic() + patience_seconds
    app = cast(BlackbirdApp, pilot.app)
    while not holds():
        assert time.monotonic() < deadline, app.fault or screen_text(app)
        # To wait for each widget as well, as the pilot does, costs more than what is waited for.
        await asyncio.sleep(0.02)
    await pilot.pause()


async def see(
    app: BlackbirdApp, pilot: Pilot[None], *texts: str, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until all texts are on the screen: they may appear late, or be covered by a toast."""

    def shows_all() -> bool:
        shown = screen_text(app)
        return all(text in shown for text in texts)

    await wait_for(pilot, shows_all, patience_seconds)


def is_over(app: BlackbirdApp) -> bool:
    """Whether the application runs no loop any more."""
    return not app.runner.is_busy


def screen_text(app: BlackbirdApp) -> str:
    """Return the text of the screen without trailing blanks."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text[:width].rstrip() for strip in strips[:height])


def works(app: BlackbirdApp, saying: str = "Working on it.") -> bool:
    """Whether an agent that was started has printed this; the same text in its prompt does not count."""
    shown = screen_text(app)
    return "starting " in shown and saying in shown
