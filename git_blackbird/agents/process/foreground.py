"""An agent's own program in the foreground of the user's terminal, in a session that it had before."""

import asyncio
import os
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.cancellation import finish
from git_blackbird.agents.process.gate import StartedProcess, at_gate, starting
from git_blackbird.agents.process.outcome import ChildRequest, ExitCause, ProcessResult
from git_blackbird.agents.protocol import TMP_FOLDER, LaunchSpec, RunRequest
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.run.agent_io import AgentFailure, AgentResult, agent_in_text

Lend = Callable[[Callable[[], object]], Awaitable[None]]
"""Leave the terminal to a program, which is called in a thread, until its end."""


@dataclass
class ForegroundProcess(StartedProcess):
    """The program, waiting at its gate, until ``follow`` lends it the terminal.

    It stays in the process group of this program, which has the terminal: so Ctrl+C and Ctrl+Z are its own,
    and the shell that started both can stop and continue both.
    """

    agent: str
    request: RunRequest
    lend: Lend

    def open_gate(self) -> None:
        """Do nothing: it begins once nobody else writes to the terminal."""

    async def follow(self, request: ChildRequest) -> ProcessResult:
        """Lend it the terminal until its end, and stop its leftovers; there is no output to be read.

        Cancelling ends it: CancelledError is not raised.
        """
        return await finish(self._follow(request), self)

    async def _follow(self, request: ChildRequest) -> ProcessResult:
        began = time.monotonic()
        await self.lend(self._work)
        grace = min(request.limits.grace_seconds, signals.LEFTOVER_GRACE_SECONDS)
        leftovers = await asyncio.to_thread(signals.kill_orphans, {}, self.run_id, grace_seconds=grace)
        await asyncio.to_thread(signals.run_stop_command, self.stop)
        code = self.popen.returncode
        return ProcessResult(
            exit_code=code,
            cause=ExitCause.EXITED,
            reading=self._reading(code),
            leftovers_stopped=leftovers,
            duration_seconds=time.monotonic() - began,
        )

    def interrupt(self, *, at_once: bool) -> None:
        """End it."""
        number = signals.STOP_SIGNALS[-1 if at_once else 1]
        signals.signal_process(self.pid, self.identity, number)

    def _work(self) -> None:
        """Open the gate, wait for the end of the process, and restore the terminal."""
        mode = termios.tcgetattr(sys.stdin)
        try:
            super().open_gate()
            self.popen.wait()
        finally:
            with suppress(termios.error):
                termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)

    def _reading(self, code: int) -> AgentResult:
        """Return what its end says: all it said is in its session, and what it costs is not known."""
        name, request = agent_in_text(self.agent), self.request
        note = f"opened by hand: what was said is in the session of {name} alone, and its cost is not known"
        if code == 0:
            return AgentResult(
                succeeded=True,
                session=request.session,
                # The next resume is subtracted from what was last known.
                raw_totals=dict(request.previous_totals),
                notes=(note,),
                worked=True,
            )
        why = f"signal: {-code}" if code < 0 else f"exit status {code}"
        return AgentResult(
            session=request.session,
            error=f"its program ended with {why}",
            refusal=AgentFailure.REFUSED,
            refusal_hint=task_command("resume", TaskId(request.task_id), " --interactive"),
            raw_totals=dict(request.previous_totals),
            notes=(note,),
        )


def spawn_in_foreground(
    launch: LaunchSpec, request: RunRequest, *, agent: str, environ: Mapping[str, str], lend: Lend
) -> ForegroundProcess:
    """Start the process of ``launch`` at its gate, in this terminal.

    Raises AgentUnavailableError, UnusableError as ``starting`` does.
    """
    Path(request.scratch, TMP_FOLDER).mkdir(mode=0o700, exist_ok=True)
    try:
        terminal = os.ttyname(sys.stdin.fileno())
    except OSError:
        terminal = os.ctermid()
    with starting():
        popen = subprocess.Popen(
            at_gate(launch, terminal, environ),
            stdin=subprocess.PIPE,
            cwd=request.folder,
            env={**environ, **launch.environ},
        )
    identity = signals.identity(popen.pid) or ""
    return ForegroundProcess(popen, identity, request.run_id, agent, request, lend, stop=launch.stop)
