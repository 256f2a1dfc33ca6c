"""Run a shell command of the user's, such as the check, as agents are run.

The checks of one user are limited in number, over all repositories: overload makes them fail.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.gate import Watcher
from git_blackbird.agents.process.launch import spawn_gated
from git_blackbird.agents.protocol import RUN_ID_VARIABLE, TASK_ID_VARIABLE, TMP_FOLDER, Launch, Limits
from git_blackbird.agents.registry import without_outer_session
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import finish_log, log_files
from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.storage.locks import take_slot

IN_CHECK_VARIABLE = "BLACKBIRD_CHECK"
"""Tells a command that it is started by a check, which has a slot already."""

_PROCESSORS_EACH = 4
_POLL_SECONDS = 0.1


class CheckSlots:
    """The slots of a user's checks on this machine, ``check.slots`` of them."""

    def __init__(self, workspace: Workspace, ui: UserInterface) -> None:
        self._workspace = workspace
        self._ui = ui
        self._is_refusal_told = False

    @property
    def count(self) -> int:
        return self._workspace.config.check.slots or max(1, (os.cpu_count() or 1) // _PROCESSORS_EACH)

    async def take(self, task_id: TaskId, *, quietly: bool = False) -> contextlib.ExitStack:
        """Wait for a free slot, and say so once unless ``quietly``; closing the stack frees it.

        If the system refuses a slot, warn once and go on without one.
        """
        is_told = quietly
        while True:
            try:
                return self._slot(task_id)
            except LockedError as error:
                if not is_told:
                    text = f"the check of {task_id} waits for another one of yours: {error.message}"
                    inform(self._ui, text, task_id)
                is_told = True
            except UnusableError as error:
                if not self._is_refusal_told:
                    warn(self._ui, f"checks do not wait for each other: {error.message}", task_id)
                self._is_refusal_told = True
                return contextlib.ExitStack()
            await asyncio.sleep(_POLL_SECONDS)

    def _slot(self, task_id: TaskId) -> contextlib.ExitStack:
        environment = self._workspace.environment
        if environment.environ.get(IN_CHECK_VARIABLE):
            return contextlib.ExitStack()
        holder = f"{task_id} in {self._workspace.home.top} (process {os.getpid()})"
        return take_slot(environment.user_cache / "checks", self.count, holder)


# Both streams in one, in the order in which they are printed.
_JOINED = 'exec 2>&1; exec /bin/sh -c "$1"'
_NOT_STARTED = {126: "the command cannot be executed", 127: "a program of the command was not found"}


class TimeLimit(NamedTuple):
    """How long a command may take, and why."""

    seconds: int
    why: str = "check.timeoutSeconds"


@dataclass(frozen=True)
class UserCommand:
    """A check or a set-up: the folder that it works in, where its output goes, and how long it may take.

    ``scratch`` is its private folder, as ``scratch_dir`` makes it for ``mark``, by which its processes are
    found. The folder of ``log`` is there.
    """

    task_id: TaskId
    mark: str
    text: str
    cwd: Path
    scratch: Path
    log: Path
    limit: TimeLimit
    variables: Mapping[str, str]

    async def run(self, workspace: Workspace, hurry: asyncio.Event) -> Ended:
        """Run it to its end; cancelling stops it, and the end says so. Raises as ``spawn_gated``."""
        # A process left by a killed command is found by the folder in its environment.
        await run_in_thread(lambda: signals.kill_orphans({}, self.mark, grace_seconds=0))
        self.log.unlink(missing_ok=True)
        launch = Launch(
            ("/bin/sh", "-c", _JOINED, "command", self.text),
            environ=self._environ(workspace),
            folder=str(self.cwd),
            scratch=str(self.scratch),
            limits=Limits(
                self.limit.seconds, self.limit.seconds, workspace.config.execution.stop_grace_seconds
            ),
        )
        child = spawn_gated(launch, log_files(workspace, self.log, self.scratch / "errors.log"))
        child.run_id = self.mark
        child.open_gate()
        ended = await child.follow(Watcher(hurry))
        await run_in_thread(lambda: finish_log(workspace, self.log))
        return ended

    def _environ(self, workspace: Workspace) -> Mapping[str, str]:
        environ = without_outer_session(workspace.repo.environ)
        environ.pop(RUN_ID_VARIABLE, None)
        tmp = str(self.scratch / TMP_FOLDER)
        return {**environ, TASK_ID_VARIABLE: self.task_id, "TMPDIR": tmp, **self.variables}

    def why_broken(self, ended: Ended) -> str | None:
        """Return why the exit code is not a verdict; None if it finished."""
        if ended.cause is not ExitCause.EXITED:
            return f"it was not done after {self.limit.seconds} s ({self.limit.why})"
        if ended.exit_code is None or ended.exit_code in _NOT_STARTED:
            return _NOT_STARTED.get(ended.exit_code or 0, "how it ended is not known")
        return None
