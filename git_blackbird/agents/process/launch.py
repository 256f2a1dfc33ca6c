"""Start an agent's process blocked at a gate, and supervise it once its record is saved.

Imports asyncio, so only code that runs agents may import it.
"""

import asyncio
import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from git_blackbird.agents.environment import RUN_ID_VARIABLE, TMP_FOLDER
from git_blackbird.agents.process import signals
from git_blackbird.agents.process.logs import LogFiles, TailedLog, open_log
from git_blackbird.agents.process.supervise import (
    ExitCause,
    Limits,
    OnOutput,
    OutputHandlers,
    ProcessResult,
    StartedProcess,
    Supervisor,
)
from git_blackbird.agents.protocol import LaunchSpec, OutputParser
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.model.base.system import is_exhausted, refusal_hint
from git_blackbird.model.entities.agent_io import Progress

__all__ = ["ExitCause", "GatedProcess", "Limits", "LogFiles", "ProcessResult", "spawn_gated"]

GATE_CLOSED_STATUS = 75
_PROMPT_FILE = "prompt"
_SHELL = "/bin/sh"
# The child waits here until its record is saved. End of file, also from a parent killed by SIGKILL, ends it
# before the agent has begun.
_GATE = f'IFS= read -r _ || exit {GATE_CLOSED_STATUS}; f=$1; shift; exec "$@" <"$f"'
_ABANDON_SECONDS = 5.0


def spawn_gated(
    launch: LaunchSpec, *, cwd: Path, environ: Mapping[str, str], logs: LogFiles, work_dir: Path
) -> "GatedProcess":
    """Start the process of ``launch`` blocked at the gate, in a session and process group of its own.

    ``work_dir`` is a private folder of the caller; the prompt and the launch's files are put there, and
    ``work_dir/tmp``, the child's TMPDIR, is created. Raises AgentUnavailableError if no process can be
    started, UnusableError if the files cannot be created or the system has no resources.
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
    identity = signals.identity(popen.pid) or ""
    run_id = environ.get(RUN_ID_VARIABLE, "")
    return GatedProcess(StartedProcess(popen, identity, run_id, stdout[1], stderr[1]))


def _open_stream(path: Path, max_bytes: int, on_failure: ExitStack) -> tuple[int, TailedLog]:
    """Open a log for the child to write and for us to read."""
    output = open_log(path)
    on_failure.callback(os.close, output)
    followed = TailedLog(path, max_bytes)
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


class GatedProcess:
    """A started process that does nothing before ``open_gate``.

    Call either ``open_gate`` and then ``follow``, or ``abandon``. ``ended`` is set once ``follow`` is over,
    also if it was cancelled.
    """

    def __init__(self, started: StartedProcess) -> None:
        self._started = started
        self.ended: ProcessResult | None = None

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self._started.pid

    @property
    def identity(self) -> str:
        """Distinguishes this process from a later one with the same id."""
        return self._started.identity

    def open_gate(self) -> None:
        """Let the agent begin. If the process has ended meanwhile, ``follow`` reports it."""
        gate = self._started.popen.stdin
        if gate is None or gate.closed:
            raise ValueError("this gate has been opened or closed before")
        with suppress(BrokenPipeError), gate:
            gate.write(b"\n")

    def abandon(self) -> None:
        """End the process before the agent has begun; if it has begun, kill its whole group."""
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
        reader: OutputParser,
        limits: Limits,
        *,
        on_progress: Callable[[Progress], None],
        on_output: OnOutput | None,
        hurry: asyncio.Event,
    ) -> ProcessResult:
        """Supervise the child until its end, and stop its leftovers.

        Cancelling stops the child (SIGINT, grace, SIGTERM, grace, SIGKILL; with ``hurry`` SIGKILL at once),
        reads the rest of the log and raises CancelledError with ``ended`` set. Cancelling a second time is
        the same as ``hurry``. An exception of a listener kills the child and is raised.
        """
        turn = Supervisor(self._started, OutputHandlers(reader, on_progress, on_output), limits, hurry)
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
