"""Start an agent's process blocked at a gate, and supervise it once its record is saved.

Imports asyncio, so only code that runs agents may import it.
"""

import asyncio
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals

from git_blackbird import trace
from git_blackbird.agents.process import signals
from git_blackbird.agents.process.cancellation import finish
from git_blackbird.agents.process.gate import UNKILLABLE_SECONDS, StartedProcess, at_gate, starting
from git_blackbird.agents.process.logs import LogFiles, TailedLog, open_log
from git_blackbird.agents.process.outcome import ChildRequest, ExitCause, ProcessResult
from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TMP_FOLDER, LaunchSpec
from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import refusal_hint
from git_blackbird.model.run.agent_io import AgentResult

_PROMPT_FILE = "prompt"
_SHORTEST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.05
# How long output is read before a pause: a screen in this process waits for the interpreter meanwhile.
_TURN_SECONDS = 0.005


def spawn_gated(
    launch: LaunchSpec, *, cwd: Path, environ: Mapping[str, str], logs: LogFiles, work_dir: Path
) -> "GatedProcess":
    """Start the process of ``launch`` blocked at the gate, in a session and process group of its own.

    ``work_dir`` is a private folder of the caller; the prompt and the launch's files are put there, and
    ``work_dir/tmp``, the child's TMPDIR, is created. Raises AgentUnavailableError if no process can be
    started, UnusableError if the files cannot be created or the system has no resources.
    """
    prompt = work_dir / _PROMPT_FILE
    with ExitStack() as outputs, ExitStack() as on_failure:
        try:
            for name, data in {_PROMPT_FILE: launch.stdin, **launch.files}.items():
                _write_private(work_dir / name, data)
            (work_dir / TMP_FOLDER).mkdir(mode=0o700, exist_ok=True)
            streams = [_open_stream(path, logs, outputs, on_failure) for path in (logs.stdout, logs.stderr)]
        except OSError as error:
            where = error.filename or work_dir
            message = f"cannot write {where}: {error.strerror or error}"
            raise UnusableError(message, hint=refusal_hint(error)) from error
        (stdout, stdout_log), (stderr, stderr_log) = streams
        with starting():
            popen = subprocess.Popen(
                at_gate(launch, str(prompt), environ),
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env={**environ, **launch.environ},
                start_new_session=True,
            )
        on_failure.pop_all()
    identity = signals.identity(popen.pid) or ""
    run_id = environ.get(RUN_ID_VARIABLE, "")
    return GatedProcess(popen, identity, run_id, stdout_log, stderr_log, stop=launch.stop)


def _open_stream(
    path: Path, logs: LogFiles, outputs: ExitStack, on_failure: ExitStack
) -> tuple[int, TailedLog]:
    """Open a log for the child to write and for us to read."""
    output = open_log(path)
    outputs.callback(os.close, output)
    log = TailedLog(path, logs.max_bytes, logs.redactor)
    on_failure.callback(log.close)
    return output, log


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(data)


@dataclass
class GatedProcess(StartedProcess):
    """A started process that does nothing before ``open_gate``, with its logs; leader of its own group."""

    stdout: TailedLog
    stderr: TailedLog

    def abandon(self) -> None:
        """End the process before the agent begins; if it has begun, kill its whole group."""
        super().abandon()
        self.close_logs()

    def close_logs(self) -> None:
        """Count and close both logs."""
        self.stdout.close()
        self.stderr.close()

    async def follow(self, request: ChildRequest) -> ProcessResult:
        """Supervise the child until its end, and stop its leftovers.

        Cancelling stops the child (SIGINT, grace, SIGTERM, grace, SIGKILL; with ``hurry`` SIGKILL at once),
        reads the rest of the log and returns: CancelledError is not raised. Cancelling a second time is the
        same as ``hurry``. An exception of a callback kills the child and is raised.
        """
        supervisor = _Supervisor(self, request)
        return await finish(supervisor.run(), supervisor)


class _Supervisor:
    """Supervise one run; ``interrupt`` may be called while ``run`` goes on."""

    def __init__(self, child: GatedProcess, request: ChildRequest) -> None:
        self._child = child
        self._reader, self._limits, self._hurry = request.reader, request.limits, request.hurry
        self._on_progress, self._on_output = request.on_progress, request.on_output
        self._why_stop = request.why_stop
        self._at_once = False
        self._cause = ExitCause.EXITED
        # The signals still to be sent; None while nobody stops the child.
        self._signals: list[Signals] | None = None
        self._next_signal = float("-inf")
        self._signalled: dict[int, str] = {}
        self._started = child.opened
        self._last_output = time.monotonic()
        # Since when the final result is there with nothing left at work.
        self._idle_since: float | None = None
        # The outcome of a child that had given its final result before it was stopped.
        self._reading: AgentResult | None = None
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._has_exited = False
        self._exit_code: int | None = None
        # A daemon: a child that even SIGKILL cannot end must not keep this program from ending.
        threading.Thread(target=self._await_exit, name=f"exit of {child.pid}", daemon=True).start()

    def interrupt(self, *, at_once: bool) -> None:
        """Stop the child: with the usual graces, or by SIGKILL."""
        self._at_once |= at_once
        self._stop(ExitCause.INTERRUPTED)
        self._wake.set()

    async def run(self) -> ProcessResult:
        """Supervise the child until it, its leftovers and its output have ended."""
        try:
            await self._follow_until_exit()
            leftovers = await self._stop_leftovers()
            fault = await self._stop_wrapped()
            await self._read_rest()
        except BaseException:
            self._child.kill()
            raise
        finally:
            if self._has_exited:
                # Only now its process id and group may be reused.
                self._child.popen.wait()
            self._child.close_logs()
        stdout, stderr = self._child.stdout, self._child.stderr
        reading = self._reading or self._reader.finish(self._exit_code, stderr.tail)
        return ProcessResult(
            exit_code=self._exit_code,
            cause=self._cause,
            reading=reading if fault is None else replace(reading, notes=(*reading.notes, fault)),
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
        """Wait for the child's end, in a thread."""
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
            self._take_result()

    def _take_result(self) -> None:
        """Take the final result of a child, if it has given one: its exit code no longer counts."""
        remaining = self._reader.remaining_work
        if remaining is None:
            return
        reading = self._reader.finish(0, self._child.stderr.tail)
        note = None
        if remaining:
            note = f"it was stopped after its result, with this still at work: {', '.join(remaining)}"
        elif self._cause is ExitCause.EXITED:
            seconds = f"{self._limits.result_seconds:g} seconds"
            note = f"it did not exit within {seconds} after its result, and was stopped"
        self._reading = replace(reading, notes=(*reading.notes, note) if note else reading.notes)

    @property
    def _is_hurried(self) -> bool:
        return self._signals is not None and (self._at_once or self._hurry.is_set())

    async def _follow_until_exit(self) -> None:
        pause = _SHORTEST_PAUSE_SECONDS
        while not self._has_exited:
            until = time.monotonic() + _TURN_SECONDS
            has_more = self._read_piece()
            while has_more and time.monotonic() < until:
                has_more = self._read_piece()
            now = time.monotonic()
            if now - self._started > self._limits.wall_seconds:
                self._stop(ExitCause.WALL_LIMIT)
            elif now - self._last_output > self._limits.idle_seconds:
                self._stop(ExitCause.IDLE_LIMIT)
            elif self._is_at_work and (cause := self._why_stop()) is not None:
                self._stop(cause)
            elif not has_more and self._is_overdue(now):
                self._stop(ExitCause.EXITED)
            if self._signals is not None and self._send_due_signal(self._signals, now):
                return
            # Who prints faster than anyone reads is not read faster for it.
            pause = _SHORTEST_PAUSE_SECONDS if has_more else min(2 * pause, _LONGEST_PAUSE_SECONDS)
            await self._sleep(pause)

    @property
    def _is_at_work(self) -> bool:
        """Whether the child may go on to spend: it is not being stopped, and has not done all."""
        remaining = self._reader.remaining_work
        return self._signals is None and (remaining is None or bool(remaining))

    def _is_overdue(self, now: float) -> bool:
        """Whether the child has not exited for too long after its final result."""
        remaining = self._reader.remaining_work
        if remaining is None or remaining:
            self._idle_since = None
            return False
        self._idle_since = self._idle_since or now
        return now - self._idle_since >= self._limits.result_seconds

    def _send_due_signal(self, left: list[Signals], now: float) -> bool:
        """Send the next signal, if it is due; return whether the child has survived the last one."""
        if left and (self._is_hurried or now >= self._next_signal):
            number = left[-1] if self._is_hurried else left[0]
            del left[: left.index(number) + 1]
            self._next_signal = now + (self._limits.grace_seconds if left else UNKILLABLE_SECONDS)
            # After its end its descendants cannot be found any more.
            self._signalled |= self._child.related_processes()
            signals.signal_group(self._child.pid, self._child.identity, number)
        return not left and now >= self._next_signal

    async def _sleep(self, seconds: float) -> None:
        self._wake.clear()
        if not self._has_exited:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._wake.wait()

    async def _read_rest(self) -> None:
        # Up to the present size: an escaped process in another session may write forever.
        ends = self._child.stdout.size(), self._child.stderr.size()
        while self._read_piece(*ends):  # noqa: ASYNC110  # yields to other tasks; there is nothing to wait for
            await asyncio.sleep(0)
        self._take(self._child.stdout.release(), self._child.stderr.release())

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
                self._on_progress(progress)
        self._show(stdout, "stdout", self._child.stdout)
        self._show(stderr, "stderr", self._child.stderr)

    def _show(self, data: bytes, stream: str, log: TailedLog) -> None:
        if data and self._on_output is not None:
            self._on_output(data, stream, log.take_passed_over())

    async def _stop_wrapped(self) -> str | None:
        """End what the last signal does not reach; return why that could not be, if it could not."""
        if self._signals is None:
            return None
        return await asyncio.to_thread(signals.run_stop_command, self._child.stop)

    async def _stop_leftovers(self) -> int:
        known = self._child.related_processes() | {
            pid: identity for pid, identity in self._signalled.items() if signals.is_alive(pid, identity)
        }
        known.pop(self._child.pid, None)
        if not known:
            return 0
        grace = 0.0 if self._is_hurried else min(self._limits.grace_seconds, signals.LEFTOVER_GRACE_SECONDS)
        return await asyncio.to_thread(signals.kill_orphans, known, self._child.run_id, grace_seconds=grace)


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
