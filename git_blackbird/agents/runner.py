"""Starts an agent's process held at a gate, and follows it once its record is on the disk.

Imports asyncio: to be imported by what runs agents, not by what reads records.
"""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from git_blackbird.agents import processes
from git_blackbird.agents.environment import RUN_ID_VARIABLE, TMP_FOLDER
from git_blackbird.agents.following import (
    EndCause,
    Ended,
    Following,
    Limits,
    Listeners,
    OnOutput,
    StartedProcess,
)
from git_blackbird.agents.logs import FollowedLog, LogFiles, open_log
from git_blackbird.agents.protocol import Launch, OutputReader
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.model.conversation import Progress
from git_blackbird.model.system_faults import is_exhausted, refusal_hint

__all__ = ["EndCause", "Ended", "HeldChild", "Limits", "LogFiles", "hold"]

GATE_CLOSED_STATUS = 75
_PROMPT_FILE = "prompt"
_SHELL = "/bin/sh"
# The child waits here until its record is on the disk. End of file, also that of a parent killed by
# SIGKILL, ends it before the agent has begun.
_GATE = f'IFS= read -r _ || exit {GATE_CLOSED_STATUS}; f=$1; shift; exec "$@" <"$f"'
_ABANDON_SECONDS = 5.0


def hold(
    launch: Launch, *, cwd: Path, environ: Mapping[str, str], logs: LogFiles, work_dir: Path
) -> "HeldChild":
    """Start the process of ``launch`` held at the gate, in a session and process group of its own.

    ``work_dir`` is a private folder of the caller's; the prompt and the launch's files are put there, and
    ``work_dir/tmp``, meant as the child's TMPDIR, is made. Raises AgentUnavailableError when no
    process can be started, UnusableError when the files cannot be made or the system has no room for one.
    """
    prompt = work_dir / _PROMPT_FILE
    argv = [_SHELL, "-c", _GATE, "gate", str(prompt), *launch.argv]
    with ExitStack() as on_failure:
        try:
            for name, data in {_PROMPT_FILE: launch.stdin, **launch.files}.items():
                _write_private(work_dir / name, data)
            (work_dir / TMP_FOLDER).mkdir(mode=0o700, exist_ok=True)
            stdout = _open_stream(logs.stdout, logs.max_bytes, on_failure)
            stderr = _open_stream(logs.stderr, logs.max_bytes, on_failure)
        except OSError as error:
            where = error.filename or work_dir
            message = f"cannot write {where}: {error.strerror or error}"
            raise UnusableError(message, hint=refusal_hint(error)) from error
        outputs = stdout[0], stderr[0]
        try:
            popen = _start(argv, cwd, {**environ, **launch.environ}, outputs)
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and is_exhausted(error):
                message = f"cannot start the agent: {error.strerror}"
                raise UnusableError(message, hint=refusal_hint(error)) from error
            hint = "fix that, then repeat the command"
            raise AgentUnavailableError(f"cannot start the agent: {error}", hint=hint) from error
        on_failure.pop_all()
    for output in outputs:
        os.close(output)
    identity = processes.identity(popen.pid) or ""
    run_id = environ.get(RUN_ID_VARIABLE, "")
    return HeldChild(StartedProcess(popen, identity, run_id, stdout[1], stderr[1]))


def _open_stream(path: Path, max_bytes: int, on_failure: ExitStack) -> tuple[int, FollowedLog]:
    """Open a log for the child to write and for us to follow."""
    output = open_log(path)
    on_failure.callback(os.close, output)
    followed = FollowedLog(path, max_bytes)
    on_failure.callback(followed.close)
    return output, followed


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as stream:
        stream.write(data)


def _start(
    argv: list[str], cwd: Path, environ: Mapping[str, str], outputs: tuple[int, int]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=outputs[0],
        stderr=outputs[1],
        cwd=cwd,
        env=environ,
        start_new_session=True,
    )


class HeldChild:
    """A started process that does nothing before ``open_gate``.

    Either ``open_gate`` and then ``follow``, or ``abandon``. ``ended`` is there once ``follow`` is over,
    also when it was cancelled.
    """

    def __init__(self, started: StartedProcess) -> None:
        self._started = started
        self.ended: Ended | None = None

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return self._started.pid

    @property
    def identity(self) -> str:
        """What tells this process from a later one of the same number."""
        return self._started.identity

    def open_gate(self) -> None:
        """Let the agent begin. A process that has ended meanwhile is for ``follow`` to tell."""
        gate = self._started.popen.stdin
        if gate is None or gate.closed:
            raise ValueError("this gate has been opened or closed before")
        with suppress(BrokenPipeError), gate:
            gate.write(b"\n")

    def abandon(self) -> None:
        """Let the process end without the agent having begun; once it has begun, kill all of it."""
        gate = self._started.popen.stdin
        if gate is None or gate.closed:
            self._started.kill()
        else:
            gate.close()
            self._await_closed_gate()
        self._started.close_logs()

    def _await_closed_gate(self) -> None:
        try:
            self._started.popen.wait(_ABANDON_SECONDS)
        except subprocess.TimeoutExpired:
            self._started.kill()

    async def follow(
        self,
        reader: OutputReader,
        limits: Limits,
        *,
        on_progress: Callable[[Progress], None],
        on_output: OnOutput | None,
        hurry: asyncio.Event,
    ) -> Ended:
        """Follow the opened child to its end, and stop what it leaves behind.

        Cancelling stops the child (SIGINT, grace, SIGTERM, grace, SIGKILL; with ``hurry`` SIGKILL at
        once), reads the rest of the log and raises CancelledError with ``ended`` set. Cancelling a second
        time is the same as ``hurry``. What a listener raises kills the child and goes on to the caller.
        """
        turn = Following(self._started, Listeners(reader, on_progress, on_output), limits, hurry)
        work = asyncio.ensure_future(turn.run())
        cancelled = 0
        while not work.done():
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                cancelled += 1
                turn.interrupt(at_once=cancelled > 1)
        self.ended = work.result()
        if cancelled:
            raise asyncio.CancelledError
        return self.ended
