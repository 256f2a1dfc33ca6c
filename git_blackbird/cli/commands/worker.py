"""The command ``worker``: making runs for calls on other machines."""

import asyncio
import signal
import socket
import sys
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.cluster.extra import LOCAL, require_extra
from git_blackbird.cluster.worker import WITH_PARENT, WorkerOptions, serve
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.document import line
from git_blackbird.model.base.sanitize import quoted


def worker(
    call: CommandContext, *, address: str, slots: int, name: str | None, folder: str | None
) -> ExitCode:
    require_extra()
    environ, name = call.environment.environ, socket.gethostname() if name is None else name
    _require_usable(address, name)
    place = call.environment.cwd / (folder or call.environment.user_cache / "worker")
    with_parent = bool(environ.get(WITH_PARENT))
    if folder and not with_parent and (top := _worktree_around(place)) is not None:
        hint = "git would list it as untracked: --dir with a folder outside of repositories"
        raise UsageError(f"{place} is in the worktree {top}", hint=hint)
    options = WorkerOptions(address, name, place, slots)
    asyncio.run(_serve(call, options, with_parent=with_parent))
    return ExitCode.OK


def _require_usable(address: str, name: str) -> None:
    """Raise UsageError for an address or a name that a worker cannot have."""
    if not address.strip():
        raise UsageError("a worker needs the address of a scheduler, such as tcp://HOST:8786")
    if address.startswith(LOCAL):
        hint = "a worker takes the address of a scheduler, such as tcp://HOST:8786"
        raise UsageError(f"{address} is for `execute --cluster`, which starts workers itself", hint=hint)
    if not name.strip():
        raise UsageError("a worker needs a name that is not empty")
    if "/" in name or name != line(name).text.strip():
        raise UsageError(f"{quoted(name)} cannot be a worker's name: a slash or an odd character is in it")


def _worktree_around(folder: Path) -> Path | None:
    """Return the top of the git worktree that a folder is in, wherever links lead."""
    place = folder.resolve()
    return next((above for above in (place, *place.parents) if (above / ".git").exists()), None)


async def _serve(call: CommandContext, options: WorkerOptions, *, with_parent: bool) -> None:
    """Serve until a signal comes, or the parent is gone that is at the other end of standard input."""

    def say(text: str) -> None:
        call.print(text)
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
