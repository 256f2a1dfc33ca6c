"""Supervise a started process until its end: read its logs, enforce limits, stop it and its leftovers."""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from signal import Signals

from git_blackbird import trace
from git_blackbird.agents.process import signals
from git_blackbird.agents.process.logs import TailedLog
from git_blackbird.agents.protocol import OutputParser
from git_blackbird.model.entities.agent_io import AgentResult, Progress


class ExitWatcher:
    """Wait for one child in a thread; set ``over`` and ``exit_code``, and call ``on_exit`` once.

    The child stays in the process table until ``reap``, if the system supports that: its process id and group
    cannot be reused while leftovers are sought.
    """

    def __init__(self, popen: subprocess.Popen[bytes], on_exit: Callable[[], None]) -> None:
        self._popen = popen
        self._on_exit = on_exit
        self._began = time.monotonic()
        self.over = False
        self.exit_code: int | None = None
        # A daemon: a child that even SIGKILL cannot end must not keep this program from ending.
        threading.Thread(target=self._wait, name=f"exit of {popen.pid}", daemon=True).start()

    def reap(self) -> None:
        """Remove the ended child from the process table."""
        if self.over:
            self._popen.wait()

    def _wait(self) -> None:
        self.exit_code = self._unreaped_code() if hasattr(os, "waitid") else self._popen.wait()
        self.over = True
        trace.event("exit", self._popen.pid, self.exit_code, time.monotonic() - self._began)
        self._on_exit()

    def _unreaped_code(self) -> int | None:
        try:
            result = os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            # It was reaped already, as the system does if SIGCHLD is ignored: its status is lost.
            return None
        if result is None:
            return None
        return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status


_UNKILLABLE_SECONDS = 10.0
_SHORTEST_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.05
_PIECES_PER_TURN = 8


@dataclass(frozen=True)
class Limits:
    """Time limits of a run, of its silence, and of the effect of a signal, in seconds."""

    wall_seconds: float
    idle_seconds: float
    grace_seconds: float


class ExitCause(StrEnum):
    """Why a run is over: it ended, it reached a limit, or it was stopped on request."""

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class ProcessResult:
    """The end of a run.

    ``exit_code`` is negative for the signal that killed it and None if unknown. ``_bytes`` counts the output,
    ``_dropped`` the part of it that the log does not keep. ``leftovers_stopped`` counts the processes that
    outlived the agent.
    """

    exit_code: int | None
    cause: ExitCause
    reading: AgentResult
    stdout_tail: str
    stderr_tail: str
    stdout_bytes: int
    stdout_dropped: int
    stderr_bytes: int
    stderr_dropped: int
    leftovers_stopped: int
    duration_seconds: float


OnOutput = Callable[[bytes, str], None]
"""A callback for a piece of output and its stream, ``stdout`` or ``stderr``."""


@dataclass(frozen=True)
class OutputHandlers:
    """Callbacks for a run's output; none of them may block."""

    reader: OutputParser
    on_progress: Callable[[Progress], None]
    on_output: OnOutput | None


@dataclass(frozen=True)
class StartedProcess:
    """A child process with its logs, leader of its own process group."""

    popen: subprocess.Popen[bytes]
    identity: str
    run_id: str
    stdout: TailedLog
    stderr: TailedLog

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self.popen.pid

    def close_logs(self) -> None:
        """Count and close both logs."""
        self.stdout.close()
        self.stderr.close()

    def kill(self) -> None:
        """Kill it with all its processes at once, and wait for it."""
        known = signals.related_processes(self.pid, self.run_id)
        signals.signal_group(self.pid, self.identity, signals.STOP_SIGNALS[-1])
        known |= signals.related_processes(self.pid, self.run_id)
        signals.kill_orphans(known, self.run_id, grace_seconds=0)
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(_UNKILLABLE_SECONDS)


class SignalEscalation:
    """Choose the next stop signal: SIGINT, SIGTERM, SIGKILL, with a grace between them."""

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._left = list(signals.STOP_SIGNALS)
        self._next = float("-inf")

    def due(self, now: float, *, at_once: bool) -> Signals | None:
        """Return the signal to send now, if any; ``at_once`` skips to the last one."""
        if not self._left or (now < self._next and not at_once):
            return None
        if at_once:
            del self._left[:-1]
        number = self._left.pop(0)
        self._next = now + (self._grace if self._left else _UNKILLABLE_SECONDS)
        return number

    def is_hopeless(self, now: float) -> bool:
        """Whether SIGKILL has been sent and its grace is over."""
        return not self._left and now >= self._next


class Supervisor:
    """Supervise one run; ``interrupt`` may be called while ``run`` goes on."""

    def __init__(
        self, child: StartedProcess, listeners: OutputHandlers, limits: Limits, hurry: asyncio.Event
    ) -> None:
        self._child = child
        self._listeners = listeners
        self._limits = limits
        self._hurry = hurry
        self._at_once = False
        self._cause = ExitCause.EXITED
        self._stopping: SignalEscalation | None = None
        self._stopped: dict[int, str] = {}
        self._started = self._grew = time.monotonic()
        self._wake = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._watch = ExitWatcher(child.popen, lambda: self._wake_from(loop))

    def interrupt(self, *, at_once: bool) -> None:
        """Stop the child: with the usual graces, or by SIGKILL."""
        self._at_once |= at_once
        self._stop(ExitCause.INTERRUPTED)
        self._wake.set()

    async def run(self) -> ProcessResult:
        """Supervise the child until it, its leftovers and its output have ended."""
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

    def _stop(self, cause: ExitCause) -> None:
        # A process that has ended by itself is not stopped any more: its result stays.
        if self._stopping is None and not self._watch.over:
            self._cause = cause
            self._stopping = SignalEscalation(self._limits.grace_seconds)

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
            self._stop(ExitCause.WALL_LIMIT)
        elif now - self._grew > self._limits.idle_seconds:
            self._stop(ExitCause.IDLE_LIMIT)

    def _signal(self, now: float) -> bool:
        """Send the next stop signal, if it is time; return whether there is nothing left to try."""
        if self._stopping is None:
            return False
        number = self._stopping.due(now, at_once=self._hurried)
        if number is not None:
            # After its end its descendants cannot be found any more.
            self._stopped |= self._relatives()
            signals.signal_group(self._child.pid, self._child.identity, number)
        return self._stopping.is_hopeless(now)

    def _read_turn(self) -> bool:
        """Read a limited part of the new output; return whether there may be more."""
        return all(self._read_piece(None, None) for _ in range(_PIECES_PER_TURN))

    async def _read_rest(self) -> None:
        # Up to the present size: an escaped process in another session may write forever.
        ends = self._child.stdout.size(), self._child.stderr.size()
        while self._read_piece(*ends):  # noqa: ASYNC110  # yields to other tasks; there is nothing to wait for
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
            pid: who for pid, who in self._stopped.items() if signals.is_alive(pid, who)
        }
        known.pop(self._child.pid, None)
        if not known:
            return 0
        grace = 0.0 if self._hurried else min(self._limits.grace_seconds, signals.LEFTOVER_GRACE_SECONDS)
        return await asyncio.to_thread(signals.kill_orphans, known, self._child.run_id, grace_seconds=grace)

    def _relatives(self) -> dict[int, str]:
        return signals.related_processes(self._child.pid, self._child.run_id)

    def _ended(self, leftovers: int) -> ProcessResult:
        exit_code = self._watch.exit_code
        out, err = self._child.stdout, self._child.stderr
        return ProcessResult(
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
