"""An application in a terminal of 80 columns and 24 lines, driven by its keys."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

from textual.pilot import Pilot

from git_blackbird.controller.watching import Watch
from git_blackbird.controller.world import World, real_world
from git_blackbird.tui.app import BlackbirdApp
from tests.cli.terminal import program_environ

PATIENCE_SECONDS = 30.0
SIZE = (80, 24)
Session = Callable[["BlackbirdApp", Pilot[None]], Awaitable[None]]


def world_at(repo: Path) -> World:
    return real_world()._replace(cwd=repo)


def started(repo: Path, *args: str) -> "subprocess.Popen[bytes]":
    """Start the program as another process."""
    command = [sys.executable, "-m", "git_blackbird", *args]
    nowhere = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=repo, env=program_environ(), stdout=nowhere, stderr=nowhere)


class QuickApp(BlackbirdApp):
    """Takes keys at once: those that are sent here are meant for what is there."""

    pause_seconds = 0.0


def drive(
    repo: Path, session: Session, size: tuple[int, int] = SIZE, kind: type[BlackbirdApp] = QuickApp
) -> BlackbirdApp:
    """Run the application over a repository, and what a person does in it; a fault ends a test."""
    app = driven(repo, session, size, kind)
    if app.fault is not None:
        raise app.fault
    return app


def driven(
    repo: Path, session: Session, size: tuple[int, int] = SIZE, kind: type[BlackbirdApp] = QuickApp
) -> BlackbirdApp:
    """Do the same where a fault is what is looked for."""

    async def run() -> BlackbirdApp:
        world = world_at(repo)
        app = kind(world, Watch(world))
        app.animation_level = "none"
        try:
            async with app.run_test(size=size, notifications=True) as pilot:
                await wait_for(pilot, lambda: app.picture is not None)
                await session(app, pilot)
        except Exception as error:  # noqa: BLE001  # raised again
            # What ended the application says more than what is missing on its screen.
            raise app.fault or error from None
        return app

    return asyncio.run(run())


async def wait_for(
    pilot: Pilot[None], holds: Callable[[], bool], patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait for something to become true, however long it takes within patience."""
    deadline = time.monotonic() + patience_seconds
    app = cast(BlackbirdApp, pilot.app)
    while not holds():
        assert time.monotonic() < deadline, app.fault or screen_text(app)
        await pilot.pause(0.02)
    await pilot.pause()


async def see(
    app: BlackbirdApp, pilot: Pilot[None], *texts: str, patience_seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until all of this is on the screen: it need not come at once, and a toast may cover it."""
    await wait_for(pilot, lambda: all(text in screen_text(app) for text in texts), patience_seconds)


def is_over(app: BlackbirdApp) -> bool:
    """Whether no agent is run from here any more."""
    return not app.runner.is_busy


def screen_text(app: BlackbirdApp) -> str:
    """What is on the screen, less the blanks at the ends of lines."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text[:width].rstrip() for strip in strips[:height])


def works(app: BlackbirdApp, saying: str = "Working on it.") -> bool:
    """Whether an agent that was started here has said this; that its prompt says it as well is not enough."""
    shown = screen_text(app)
    return "starting " in shown and saying in shown
