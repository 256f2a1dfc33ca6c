"""A process that waits at a gate until its record is saved, and is watched from then on."""

import asyncio
import subprocess
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from git_blackbird.agents.process import signals
from git_blackbird.agents.protocol import Launch
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.model.base.system import find_on_path, is_exhausted, refusal_hint
from git_blackbird.model.run.agent_io import Progress
from git_blackbird.model.run.ended import ExitCause
from git_blackbird.model.run.parts import LocalProcess

GATE_CLOSED_STATUS = 75
# The child waits here until its record is saved. End of file, also from a parent killed by SIGKILL, ends it
# before the agent has begun.
_GATE = f'IFS= read -r _ || exit {GATE_CLOSED_STATUS}; f=$1; shift; exec "$@" <"$f"'
_ABANDON_SECONDS = 5.0
UNKILLABLE_SECONDS = 10.0


T = TypeVar("T")


class Interruptible(Protocol):
    def interrupt(self, *, at_once: bool) -> None: ...


async def finish(work: Coroutine[Any, Any, T], worker: Interruptible) -> T:
    """Await work to its end; cancelling interrupts the worker instead, from the second time on at once."""
    task = asyncio.ensure_future(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            worker.interrupt(at_once=is_cancelled)
            is_cancelled = True
    return task.result()


class Watcher:
    """Who watches a process until its end: sees its steps and output, and may have it stopped.

    Its methods must not block. Once ``hurry`` is set, a process that is being stopped is killed.
    """

    wants_output = False

    def __init__(self, hurry: asyncio.Event) -> None:
        self.hurry = hurry

    def see_step(self, step: Progress) -> None: ...

    def see_output(self, data: bytes, stream: str, skipped: int) -> None:
        """Take a piece of ``stdout`` or ``stderr``, before which so many bytes were skipped."""

    def why_stop(self, step: int | None) -> ExitCause | None:
        """Return why it is to be stopped, unless it has done all it was to do; None while it may go on.

        ``step`` is the number of the step at work, None between steps or where that is unknown.
        """


def at_gate(launch: Launch, input_file: str) -> list[str]:
    """Return the command that waits at the gate for ``launch``, which reads ``input_file`` behind it.

    Its program is named with its folder: the shell would look for it in the worktree too.
    """
    program, *args = launch.argv
    found = find_on_path(program, launch.environ) or program
    return ["/bin/sh", "-c", _GATE, "gate", input_file, found, *args]


@contextmanager
def starting() -> Iterator[None]:
    """Start a process in the block.

    Raises AgentUnavailableError if none can be started, UnusableError if the system has no resources.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and is_exhausted(error):
            message = f"cannot start the agent: {error.strerror}"
            raise UnusableError(message, hint=refusal_hint(error)) from error
        hint = "fix that, then repeat the command"
        raise AgentUnavailableError(f"cannot start the agent: {error}", hint=hint) from error


@dataclass(eq=False, repr=False)
class StartedProcess:
    """A started process that does nothing before ``open_gate``.

    ``identity`` distinguishes it from a later process with the same id. Call either ``open_gate`` and then
    ``follow``, or ``abandon``. ``opened`` is the time of the gate's opening by the monotonic clock.
    """

    popen: subprocess.Popen[bytes]
    identity: str
    run_id: str
    launch: Launch
    opened: float = field(default_factory=time.monotonic, init=False)

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self.popen.pid

    @property
    def process(self) -> LocalProcess:
        return LocalProcess(pid=self.pid, identity=self.identity)

    def open_gate(self) -> None:
        """Let the agent begin. If the process has ended meanwhile, ``follow`` reports it."""
        gate = self.popen.stdin
        if gate is None or gate.closed:
            raise ValueError("this gate has been opened or closed before")
        self.opened = time.monotonic()
        with suppress(BrokenPipeError), gate:
            gate.write(b"\n")

    def abandon(self) -> None:
        """End the process before the agent begins; if it has begun, kill its whole group."""
        gate = self.popen.stdin
        if gate is None or gate.closed:
            self.kill()
        else:
            gate.close()
            try:
                self.popen.wait(_ABANDON_SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """Kill it with all its processes at once, and wait for it."""
        known = signals.related_processes(self.pid, self.run_id)
        signals.signal_group(self.pid, self.identity, signals.STOP_SIGNALS[-1])
        known |= signals.related_processes(self.pid, self.run_id)
        signals.kill_orphans(known, self.run_id, grace_seconds=0)
        signals.run_stop_command(self.launch.stop)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(UNKILLABLE_SECONDS)
