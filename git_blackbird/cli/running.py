"""Running a loop in this process: the lock, the event loop, the signals."""

import asyncio
import signal
from collections.abc import Callable
from typing import Protocol

from git_blackbird.controller.holding import hold_controller
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.workspace import Workspace
from git_blackbird.model.presses import PressCounter
from git_blackbird.model.stop import Stop

_PAUSING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_loop(workspace: Workspace, command: str, loop: Loop, opening: Opening) -> Stop:
    """Run to the stop; a first SIGINT, SIGTERM or SIGHUP pauses, a second kills.

    Raises LockedError when another process runs agents here, BlackbirdError when something cannot go on.
    """
    with hold_controller(workspace, command):
        return asyncio.run(_run(loop, opening))


async def _run(loop: Loop, opening: Opening) -> Stop:
    events = asyncio.get_running_loop()
    presses = Presses(loop, events.time)
    for number in _PAUSING:
        events.add_signal_handler(number, presses.signal)
    return await loop.run(opening)


class Interruptible(Protocol):
    """What a key press interrupts."""

    def interrupt(self) -> None:
        """Pause; asked a second time, kill."""
        ...


class Presses:
    """Makes one interrupt of one key press, however often its signal comes."""

    def __init__(self, loop: Interruptible, now: Callable[[], float]) -> None:
        self._loop = loop
        self._presses = PressCounter(now)

    def signal(self) -> None:
        """Take one signal; one that comes with the last is the same press."""
        if self._presses.is_new():
            self._loop.interrupt()
