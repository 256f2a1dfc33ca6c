"""Start an agent's process blocked at a gate, and supervise it once its record is saved.

Imports asyncio, so only code that runs agents may import it.
"""

import asyncio
import os
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from signal import Signals

from git_blackbird import trace
from git_blackbird.agents.process import signals
from git_blackbird.agents.process.gate import (
    UNKILLABLE_SECONDS,
    StartedProcess,
    Watcher,
    at_gate,
    finish,
    starting,
)
from git_blackbird.agents.process.logs import LogFiles, TailedLog, open_log
from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TMP_FOLDER, Launch
from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.run.ended import Ended, ExitCause

_PROMPT_FILE = "prompt"
_SHORTEST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.1
# How long output is read before a pause: a screen in this process waits for the interpreter meanwhile.
_TURN_SECONDS = 0.005


def spawn_gated(launch: Launch, logs: LogFiles) -> "GatedProcess":
    """Start the process of ``launch`` blocked at the gate, in a session and process group of its own.

    The prompt and the launch's files are put into its private folder, and there ``tmp``, the child's TMPDIR,
    is created. Raises AgentUnavailableError if no process can be started, UnusableError if the files cannot
    be created or the system has no resources.
    """
    work_dir = Path(launch.scratch)
    prompt = work_dir / _PROMPT_FILE
    with ExitStack() as outputs, ExitStack() as on_failure:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            for name, data in {_PROMPT_FILE: launch.stdin, **launch.files}.items():
                with os.fdopen(os.open(work_dir / name, flags, 0o600), "wb") as file:
                    file.write(data)
            (work_dir / TMP_FOLDER).mkdir(mode=0o700, exist_ok=True)
            streams = []
            for path in (logs.stdout, logs.stderr):
                # The child writes it, and we read it.
                output = open_log(path)
                outputs.callback(os.close, output)
                log = TailedLog(path, logs.max_bytes, logs.redactor)
                on_failure.callback(log.close)
                streams.append((output, log))
        except OSError as error:
            where = error.filename or work_dir
            message = f"cannot write {where}: {error.strerror or error}"
            raise UnusableError(message, hint=refusal_hint(error)) from error
        (stdout, stdout_log), (stderr, stderr_log) = streams
        with starting():
            earlier = signals.seen_processes()
            popen = subprocess.Popen(
                at_gate(launch, str(prompt)),
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=launch.folder,
                env=launch.environ,
                start_new_session=True,
            )
        on_failure.pop_all()
    identity = signals.identity(popen.pid) or ""
    run_id = launch.environ.get(RUN_ID_VARIABLE, "")
    return GatedProcess(popen, identity, run_id, launch, stdout_log, stderr_log, earlier)


@dataclass(eq=False, repr=False)
class GatedProcess(StartedProcess):
    """A started process at its gate, with its logs; leader of its own group, and later than ``earlier``."""

    stdout: TailedLog
    stderr: TailedLog
    earlier: signals.Processes

    def abandon(self) -> None:
        super().abandon()
        self.stdout.close()
        self.stderr.close()

    async def follow(self, watcher: Watcher) -> Ended:
        """Supervise the child until its end, and stop its leftovers.

        Cancelling stops the child (SIGINT, grace, SIGTERM, grace, SIGKILL; with ``hurry`` SIGKILL at once),
        reads the rest of the log and returns: CancelledError is not raised. Cancelling a second time is the
        same as ``hurry``. An exception of the watcher kills the child and is raised.
        """
        supervisor = _Supervisor(self, watcher)
        return await finish(supervisor.run(), supervisor)


class _Supervisor:
    """Supervise one run; ``interrupt`` may be called while ``run`` goes on."""

    def __init__(self, child: GatedProcess, watcher: Watcher) -> None:
        self._child, self._watcher = child, watcher
        self._reader, self._limits = child.launch.reader, child.launch.limits
        self._at_once = False
        self._cause = ExitCause.EXITED
        # The signals still to be sent; None while nobody stops the child.
        self._signals: list[Signals] | None = None
        self._next_signal = float("-inf")
        self._signalled: dict[int, str] = {}
        self._started = child.opened
        self._last_output = time.monotonic()
        # The outcome of a child that had given its final result before it was stopped.
        self._reading: Ended | None = None
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._has_exited = False
        self._exit_code: int | None = None
        # A daemon: a child that even SIGKILL cannot end must not keep this program from ending.
        threading.Thread(target=self._await_exit, name=f"exit of {child.pid}", daemon=True).start()

    def interrupt(self, *, at_once: bool) -> None:
        self._at_once |= at_once
        self._stop(ExitCause.INTERRUPTED)
        self._wake.set()

    async def run(self) -> Ended:
        """Supervise the child until it, its leftovers and its output have ended."""
        child, stdout, stderr = self._child, self._child.stdout, self._child.stderr
        leftovers, fault = 0, None
        try:
            await self._follow_until_exit()
            known = signals.related_processes(child.pid, child.run_id, child.earlier) | {
                pid: identity for pid, identity in self._signalled.items() if signals.is_alive(pid, identity)
            }
            known.pop(child.pid, None)
            if known:
                usual = min(self._limits.grace_seconds, signals.LEFTOVER_GRACE_SECONDS)
                end = partial(signals.kill_orphans, grace_seconds=0.0 if self._is_hurried else usual)
                leftovers = await asyncio.to_thread(end, known, child.run_id)
            if self._signals is not None:
                # What the last signal does not reach.
                fault = await asyncio.to_thread(signals.run_stop_command, child.launch.stop)
            # Up to the present size: an escaped process in another session may write forever.
            ends = stdout.size(), stderr.size()
            while self._read_piece(*ends):  # noqa: ASYNC110  # yields to other tasks; there is nothing to wait for
                await asyncio.sleep(0)
            self._take(stdout.release(), stderr.release())
        except BaseException:
            child.kill()
            raise
        finally:
            if self._has_exited:
                # Only now its process id and group may be reused.
                child.popen.wait()
            stdout.close()
            stderr.close()
        reading = self._reading or self._reader.finish(self._exit_code, stderr.tail)
        if fault is not None:
            reading = reading.noting(fault)
        return reading._replace(
            exit_code=self._exit_code,
            cause=self._cause,
            stdout_tail=stdout.tail,
            stderr_tail=stderr.tail,
            stdout_bytes=stdout.seen,
            stdout_dropped=stdout.dropped,
            stderr_bytes=stderr.seen,
            stderr_dropped=stderr.dropped,
            leftovers_stopped=leftovers,
            duration_seconds=time.monotonic() - self._started,
            redacted=stdout.redacted,
            marks=stdout.marks,
        )

    def _await_exit(self) -> None:
        self._exit_code = _wait_unreaped(self._child.popen)
        self._has_exited = True
        trace.event("exit", self._child.pid, self._exit_code, time.monotonic() - self._started)
        with suppress(RuntimeError):  # the loop was closed before the child ended
            self._loop.call_soon_threadsafe(self._wake.set)

    def _stop(self, cause: ExitCause) -> None:
        # A process that has ended by itself is not stopped any more: its result stays.
        if self._signals is None and not self._has_exited:
            self._cause = cause
            self._signals = list(signals.STOP_SIGNALS)
            remaining = self._reader.remaining_work
            if remaining is None:
                return
            # It has given its final result: its exit code no longer counts.
            self._reading = self._reader.finish(0, self._child.stderr.tail)
            if remaining:
                note = f"it was stopped after its result, with this still at work: {', '.join(remaining)}"
                self._reading = self._reading.noting(note)
            elif cause is ExitCause.EXITED:
                seconds = f"{self._limits.result_seconds:g} seconds"
                note = f"it did not exit within {seconds} after its result, and was stopped"
                self._reading = self._reading.noting(note)

    @property
    def _is_hurried(self) -> bool:
        return self._signals is not None and (self._at_once or self._watcher.hurry.is_set())

    async def _follow_until_exit(self) -> None:
        pause, idle_since = _SHORTEST_PAUSE_SECONDS, None
        reader, why_stop = self._reader, self._watcher.why_stop
        while not self._has_exited:
            until = time.monotonic() + _TURN_SECONDS
            has_more = self._read_piece()
            while has_more and time.monotonic() < until:
                has_more = self._read_piece()
            now, remaining = time.monotonic(), reader.remaining_work
            is_done = remaining is not None and not remaining
            # Since when the final result is there with nothing left at work.
            idle_since = (idle_since or now) if is_done else None
            if now - self._started > self._limits.wall_seconds:
                self._stop(ExitCause.WALL_LIMIT)
            elif now - self._last_output > self._limits.idle_seconds:
                self._stop(ExitCause.IDLE_LIMIT)
            elif self._signals is None and not is_done and (cause := why_stop(reader.step)) is not None:
                self._stop(cause)
            elif not has_more and idle_since is not None and now - idle_since >= self._limits.result_seconds:
                self._stop(ExitCause.EXITED)
            if self._signals is not None and self._send_due_signal(self._signals, now):
                return
            # Who prints faster than anyone reads is not read faster for it.
            pause = _SHORTEST_PAUSE_SECONDS if has_more else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            self._wake.clear()
            if not self._has_exited:
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._wake.wait()

    def _send_due_signal(self, left: list[Signals], now: float) -> bool:
        """Send the next signal, if it is due; return whether the child has survived the last one."""
        if left and (self._is_hurried or now >= self._next_signal):
            number = left[-1] if self._is_hurried else left[0]
            del left[: left.index(number) + 1]
            self._next_signal = now + (self._limits.grace_seconds if left else UNKILLABLE_SECONDS)
            # After its end its descendants cannot be found any more.
            self._signalled |= signals.related_processes(self._child.pid, self._child.run_id)
            signals.signal_group(self._child.pid, self._child.identity, number)
        return not left and now >= self._next_signal

    def _read_piece(self, stdout_end: int | None = None, stderr_end: int | None = None) -> bool:
        logs = self._child.stdout, self._child.stderr
        before = [log.seen for log in logs]
        stdout = logs[0].read(stdout_end, whole=self._reader.needs_all)
        self._take(stdout, logs[1].read(stderr_end, whole=False))
        is_more = before != [log.seen for log in logs]
        if is_more:
            self._last_output = time.monotonic()
        return is_more

    def _take(self, stdout: bytes, stderr: bytes) -> None:
        if stdout:
            for progress in self._reader.feed(stdout):
                self._watcher.see_step(progress)
        if stdout and self._watcher.wants_output:
            self._watcher.see_output(stdout, "stdout", self._child.stdout.take_passed_over())
        if stderr and self._watcher.wants_output:
            self._watcher.see_output(stderr, "stderr", self._child.stderr.take_passed_over())


def _wait_unreaped(popen: subprocess.Popen[bytes]) -> int | None:
    """Wait for a child's end and return its exit code, None if it is unknown.

    The child stays in the process table, if the system supports that: its process id and group cannot be
    reused while leftovers are sought.
    """
    if not hasattr(os, "waitid"):
        return popen.wait()
    try:
        result = os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        # It was reaped already, as the system does if SIGCHLD is ignored: its status is lost.
        return None
    if result is None:
        return None
    return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status
