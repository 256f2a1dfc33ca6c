"""Limit the checks of one user at a time, over all repositories: overload makes them fail."""

import asyncio
import contextlib
import os

from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
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

    async def take(self, task_id: TaskId) -> contextlib.ExitStack:
        """Return a slot once there is one, for the check of a task; closing it frees it.

        If the system refuses a slot, warn once and go on without one.
        """
        is_told = False
        while True:
            try:
                return self._slot(task_id)
            except LockedError as error:
                if not is_told:
                    text = f"the check of {task_id} waits for another one of yours: {error.message}"
                    inform(self._ui, clean_line(text), task_id)
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
        count = self._workspace.config.check.slots or max(1, (os.cpu_count() or 1) // _PROCESSORS_EACH)
        holder = f"{task_id} in {self._workspace.home.top} (process {os.getpid()})"
        return take_slot(environment.user_cache / "checks", count, holder)
