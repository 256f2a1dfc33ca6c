"""Running a loop in this process: the lock, the event loop, the signals."""

import asyncio
import signal
from collections.abc import Callable
from typing import Protocol

from git_blackbird.controller.core.locks import hold_controller
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.engine.loop import Loop
from git_blackbird.model.base.system import Debouncer
from git_blackbird.model.views.stop import Stop

_PAUSING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_loop(workspace: Workspace, command: str, loop: Loop) -> Stop:
    """Run to the stop; a first SIGINT, SIGTERM or SIGHUP pauses, a second kills.

    Raises LockedError when another process runs agents here, BlackbirdError when something cannot go on.
    """
    with hold_controller(workspace, command):
        return asyncio.run(_run(loop))


async def _run(loop: Loop) -> Stop:
    events = asyncio.get_running_loop()
    presses = SignalDebouncer(loop, events.time)
    for number in _PAUSING:
        events.add_signal_handler(number, presses.signal)
    return await loop.run()


class Interruptible(Protocol):
    """What a key press interrupts."""

    def interrupt(self) -> None:
        """Pause; asked a second time, kill."""
        ...


class SignalDebouncer:
    """Makes one interrupt of one key press, however often its signal comes."""

    def __init__(self, loop: Interruptible, now: Callable[[], float]) -> None:
        self._loop = loop
        self._presses = Debouncer(now)

    def signal(self) -> None:
        """Take one signal; one that comes with the last is the same press."""
        if self._presses.is_new():
            self._loop.interrupt()
