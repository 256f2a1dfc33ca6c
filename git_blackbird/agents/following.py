"""Follows one started process to its end: reads its logs, keeps its limits, stops it and what it left."""

import asyncio
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from signal import Signals

from git_blackbird.agents import processes
from git_blackbird.agents.exits import ExitWatch
from git_blackbird.agents.logs import FollowedLog
from git_blackbird.agents.protocol import OutputReader
from git_blackbird.model.conversation import Progress, Reading

_UNKILLABLE_SECONDS = 10.0
_SHORTEST_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.05
_PIECES_PER_TURN = 8


@dataclass(frozen=True)
class Limits:
    """How long a run may last and be silent, and how long a signal may take to work, in seconds."""

    wall_seconds: float
    idle_seconds: float
    grace_seconds: float


class EndCause(StrEnum):
    """Why a run is over: it ended, it met a limit, or we were asked to stop it."""

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    ``exit_code`` is negative for the signal that killed it and None when it cannot be told. ``_bytes``
    counts what was printed, ``_dropped`` what of it the log does not keep. ``leftovers_stopped`` counts
    the processes that outlived the agent.
    """

    exit_code: int | None
    cause: EndCause
    reading: Reading
    stdout_tail: str
    stderr_tail: str
    stdout_bytes: int
    stdout_dropped: int
    stderr_bytes: int
    stderr_dropped: int
    leftovers_stopped: int
    duration_seconds: float


OnOutput = Callable[[bytes, str], None]
"""Takes a piece of output and the stream that it was printed on, ``stdout`` or ``stderr``."""


@dataclass(frozen=True)
class Listeners:
    """Who makes sense of a run's output, and who hears of it meanwhile; none of them may block."""

    reader: OutputReader
    on_progress: Callable[[Progress], None]
    on_output: OnOutput | None


@dataclass(frozen=True)
class StartedProcess:
    """A child of ours with its logs, led by ``pid`` in a group of the same number."""

    popen: subprocess.Popen[bytes]
    identity: str
    run_id: str
    stdout: FollowedLog
    stderr: FollowedLog

    @property
    def pid(self) -> int:
        """The child's number, and its group's."""
        return self.popen.pid

    def close_logs(self) -> None:
        """Count what both logs have, and let them go."""
        self.stdout.close()
        self.stderr.close()

    def kill(self) -> None:
        """Kill it and all that belongs to it, at once, and wait for it."""
        known = processes.relatives(self.pid, self.run_id, self.identity)
        processes.signal_group(self.pid, self.identity, processes.STOP_SIGNALS[-1])
        known |= processes.relatives(self.pid, self.run_id, self.identity)
        processes.stop_leftovers(known, self.run_id, grace_seconds=0)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(_UNKILLABLE_SECONDS)


class _Stopping:
    """Which signal is due: SIGINT, SIGTERM, SIGKILL, a grace between them."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._left = list(processes.STOP_SIGNALS)
        self._next = float("-inf")

    def due(self, now: float, *, at_once: bool) -> Signals | None:
        """Give the signal to send now, if any; ``at_once`` goes straight to the last one."""
        if not self._left or (now < self._next and not at_once):
            return None
        if at_once:
            del self._left[:-1]
        number = self._left.pop(0)
        self._next = now + (self._grace if self._left else _UNKILLABLE_SECONDS)
        return number

    def is_hopeless(self, now: float) -> bool:
        """Whether even SIGKILL has had its time."""
        return not self._left and now >= self._next


class Following:
    """One run being followed; ``interrupt`` may be called while ``run`` goes on."""

    def __init__(
        self, child: StartedProcess, listeners: Listeners, limits: Limits, hurry: asyncio.Event
    ) -> None:
        self._child = child
        self._listeners = listeners
        self._limits = limits
        self._hurry = hurry
        self._at_once = False
        self._cause = EndCause.EXITED
        self._stopping: _Stopping | None = None
        self._stopped: dict[int, str] = {}
        self._started = self._grew = time.monotonic()
        self._wake = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._watch = ExitWatch(child.popen, lambda: self._wake_from(loop))

    def interrupt(self, *, at_once: bool) -> None:
        """Stop the child: with the usual graces, or by SIGKILL."""
        self._at_once |= at_once
        self._stop(EndCause.INTERRUPTED)
        self._wake.set()

    async def run(self) -> Ended:
        """Go on to the end of the child, of what it left, and of its output."""
        try:
            await self._until_exit()
            leftovers = await self._stop_leftovers()
            await self._read_rest()
        except BaseException:
            self._child.kill()
            raise
        finally:
            self._watch.reap()
            self._child.close_logs()
        return self._ended(leftovers)

    def _wake_from(self, loop: asyncio.AbstractEventLoop) -> None:
        with suppress(RuntimeError):  # the loop was closed before the child ended
            loop.call_soon_threadsafe(self._wake.set)

    def _stop(self, cause: EndCause) -> None:
        # What has ended by itself is not stopped any more: its end stays what it was.
        if self._stopping is None and not self._watch.over:
            self._cause = cause
            self._stopping = _Stopping(self._limits.grace_seconds)

    @property
    def _hurried(self) -> bool:
        return self._stopping is not None and (self._at_once or self._hurry.is_set())

    async def _until_exit(self) -> None:
        pause = _SHORTEST_PAUSE_SECONDS
        while not self._watch.over:
            more = self._read_turn()
            now = time.monotonic()
            self._check_limits(now)
            if self._signal(now):
                return
            pause = _SHORTEST_PAUSE_SECONDS if more else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            await self._sleep(0 if more else pause)

    async def _sleep(self, seconds: float) -> None:
        if not seconds:
            await asyncio.sleep(0)
            return
        self._wake.clear()
        if self._watch.over:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    def _check_limits(self, now: float) -> None:
        if now - self._started > self._limits.wall_seconds:
            self._stop(EndCause.WALL_LIMIT)
        elif now - self._grew > self._limits.idle_seconds:
            self._stop(EndCause.IDLE_LIMIT)

    def _signal(self, now: float) -> bool:
        """Send what is due of the stop signals; says whether there is nothing left to try."""
        if self._stopping is None:
            return False
        number = self._stopping.due(now, at_once=self._hurried)
        if number is not None:
            # Once it has ended, what descends from it can no more be told.
            self._stopped |= self._relatives()
            processes.signal_group(self._child.pid, self._child.identity, number)
        return self._stopping.is_hopeless(now)

    def _read_turn(self) -> bool:
        """Read a bounded part of what is new; says whether there may be more."""
        return all(self._read_piece(None, None) for _ in range(_PIECES_PER_TURN))

    async def _read_rest(self) -> None:
        # To the sizes of this moment: what hides from us in another session may write for ever.
        ends = self._child.stdout.size(), self._child.stderr.size()
        while self._read_piece(*ends):  # noqa: ASYNC110  # lets others run; there is nothing to wait for
            await asyncio.sleep(0)

    def _read_piece(self, stdout_end: int | None, stderr_end: int | None) -> bool:
        printed = self._child.stdout.read(stdout_end)
        if printed:
            for progress in self._listeners.reader.feed(printed):
                self._listeners.on_progress(progress)
        complained = self._child.stderr.read(stderr_end)
        if self._listeners.on_output is not None:
            for data, stream in ((printed, "stdout"), (complained, "stderr")):
                if data:
                    self._listeners.on_output(data, stream)
        if printed or complained:
            self._grew = time.monotonic()
        return bool(printed or complained)

    async def _stop_leftovers(self) -> int:
        known = self._relatives() | {
            pid: who for pid, who in self._stopped.items() if processes.is_alive(pid, who)
        }
        known.pop(self._child.pid, None)
        if not known:
            return 0
        grace = 0.0 if self._hurried else min(self._limits.grace_seconds, processes.LEFTOVER_GRACE_SECONDS)
        return await asyncio.to_thread(
            processes.stop_leftovers, known, self._child.run_id, grace_seconds=grace
        )

    def _relatives(self) -> dict[int, str]:
        return processes.relatives(self._child.pid, self._child.run_id, self._child.identity)

    def _ended(self, leftovers: int) -> Ended:
        exit_code = self._watch.exit_code
        out, err = self._child.stdout, self._child.stderr
        return Ended(
            exit_code=exit_code,
            cause=self._cause,
            reading=self._listeners.reader.finish(exit_code, err.tail),
            stdout_tail=out.tail,
            stderr_tail=err.tail,
            stdout_bytes=out.seen,
            stdout_dropped=out.dropped,
            stderr_bytes=err.seen,
            stderr_dropped=err.dropped,
            leftovers_stopped=leftovers,
            duration_seconds=time.monotonic() - self._started,
        )
