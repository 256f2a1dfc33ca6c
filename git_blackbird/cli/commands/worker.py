"""The command ``worker``: making runs for calls on other machines."""

import asyncio
import signal
import socket
import sys
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.cluster.extra import require_extra
from git_blackbird.controller.cluster.worker import WITH_PARENT, WorkerOptions, serve
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.sanitize import clean_line

_FOLDER = "git-blackbird/worker"


def worker(
    call: CommandContext, *, address: str, slots: int, name: str | None, folder: str | None
) -> ExitCode:
    require_extra()
    environ = call.environment.environ
    cache = Path(environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "")) / ".cache")
    place = call.environment.cwd / (folder or cache / _FOLDER)
    options = WorkerOptions(address, name or socket.gethostname(), place, slots)
    asyncio.run(_serve(call, options, with_parent=bool(environ.get(WITH_PARENT))))
    return ExitCode.OK


async def _serve(call: CommandContext, options: WorkerOptions, *, with_parent: bool) -> None:
    """Serve until a signal comes, or the parent is gone that is at the other end of standard input."""

    def say(text: str) -> None:
        call.print(clean_line(text))
        sys.stdout.flush()

    work = asyncio.ensure_future(serve(call.environment, options, say))
    events = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end() -> None:
        # The next signal ends the process at once, and the agents with it.
        for number in signals:
            events.remove_signal_handler(number)
        work.cancel()

    for number in signals:
        events.add_signal_handler(number, end)

    def end_with_parent() -> None:
        events.remove_reader(sys.stdin.fileno())
        work.cancel()

    if with_parent:
        # Nothing is ever written there.
        events.add_reader(sys.stdin.fileno(), end_with_parent)
    try:
        await work
    except asyncio.CancelledError:
        say("ended")
