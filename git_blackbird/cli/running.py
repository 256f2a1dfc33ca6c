"""Running a loop in this process: the lock, the event loop, the signals."""

import asyncio
import signal

from git_blackbird.controller.holding import hold_controller
from git_blackbird.controller.loop import Loop, Opening
from git_blackbird.controller.workspace import Workspace
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
    for number in _PAUSING:
        events.add_signal_handler(number, loop.interrupt)
    return await loop.run(opening)
