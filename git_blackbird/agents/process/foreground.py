"""An agent's own program in the foreground of the user's terminal, in a session that it had before."""

import asyncio
import os
import subprocess
import sys
import termios
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.gate import StartedProcess, Watcher, at_gate, finish, starting
from git_blackbird.agents.protocol import TMP_FOLDER, Assignment, ExitCodeReader, Launch
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.agent_io import AgentFailure, agent_in_text
from git_blackbird.model.run.ended import Ended

Lend = Callable[[Callable[[], object]], Awaitable[None]]
"""Leave the terminal to a program, which is called in a thread, until its end."""


@dataclass(eq=False, repr=False)
class ForegroundProcess(StartedProcess):
    """The program, waiting at its gate, until ``follow`` lends it the terminal.

    It stays in the process group of this program, which has the terminal: so Ctrl+C and Ctrl+Z are its own,
    and the shell that started both can stop and continue both.
    """

    lend: Lend

    def open_gate(self) -> None:
        """Do nothing: it begins once nobody else writes to the terminal."""

    async def follow(self, watcher: Watcher) -> Ended:  # noqa: ARG002  # there is nothing to be seen
        """Lend it the terminal until its end, and stop its leftovers; there is no output to be read.

        Cancelling ends it: CancelledError is not raised.
        """
        return await finish(self._follow(), self)

    async def _follow(self) -> Ended:
        began = time.monotonic()
        await self.lend(self._work)
        grace = min(self.launch.limits.grace_seconds, signals.LEFTOVER_GRACE_SECONDS)
        leftovers = await asyncio.to_thread(signals.kill_orphans, {}, self.run_id, grace_seconds=grace)
        await asyncio.to_thread(signals.run_stop_command, self.launch.stop)
        code = self.popen.returncode
        return self.launch.reader.finish(code, "")._replace(
            exit_code=code,
            leftovers_stopped=leftovers,
            duration_seconds=time.monotonic() - began,
        )

    def interrupt(self, *, at_once: bool) -> None:
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


class ByHandReader(ExitCodeReader):
    """The parser of an agent's own program: all it said is in its session, and its cost is not known."""

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:  # noqa: ARG002  # the Protocol's
        """Return that its session goes on."""
        told, name, code = self._assignment, agent_in_text(self._assignment.agent), exit_code or 0
        end = Ended(
            session=told.session,
            # The next resume is subtracted from what was last known.
            raw_totals=dict(told.previous_totals),
            notes=(
                f"opened by hand: what was said is in the session of {name} alone, and its cost is not known",
            ),
        )
        if exit_code == 0:
            return end._replace(succeeded=True, worked=True)
        why = f"signal: {-code}" if code < 0 else f"exit status {code}"
        way = TaskCommand("resume", TaskId(told.task_id), " --interactive")
        return end._replace(error=f"its program ended with {why}", refusal=AgentFailure.REFUSED, way_out=way)


def spawn_in_foreground(launch: Launch, run_id: str, lend: Lend) -> ForegroundProcess:
    """Start the process of ``launch`` at its gate, in this terminal.

    Raises AgentUnavailableError, UnusableError as ``starting`` does.
    """
    Path(launch.scratch, TMP_FOLDER).mkdir(mode=0o700, exist_ok=True)
    try:
        terminal = os.ttyname(sys.stdin.fileno())
    except OSError:
        terminal = os.ctermid()
    with starting():
        popen = subprocess.Popen(
            at_gate(launch, terminal), stdin=subprocess.PIPE, cwd=launch.folder, env=launch.environ
        )
    return ForegroundProcess(popen, signals.identity(popen.pid) or "", run_id, launch, lend)
