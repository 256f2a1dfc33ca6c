"""Prepare the folder of a task: the ignored files that an agent needs, and what a command makes."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from git_blackbird.controller.change.check.programs import TimeLimit, UserCommand
from git_blackbird.controller.core.ui import UserInterface, inform
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import scratch_dir
from git_blackbird.controller.place.slots import Slot, load_slot, save_slot, setup_mark
from git_blackbird.errors import BlackbirdError, RequestError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.folders import copy_files, count_bytes, list_ignored
from git_blackbird.messages.display.quantities import render_bytes
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.run.ended import ExitCause
from git_blackbird.model.run.states import describe_exit

_SAID_BYTES = 100 * 1000 * 1000


class SetupError(RequestError):
    """The worktree of a task could not be prepared, so the task does not start."""


@dataclass(frozen=True)
class SetUp:
    """The preparation of a folder with the files of a task: ``worktree.copy``, then ``worktree.setup``.

    ``workspace`` is the user's worktree, ``what`` the folder in words. ``is_stopped`` and ``hurry`` tell of
    interrupts.
    """

    workspace: Workspace
    ui: UserInterface
    task_id: TaskId
    what: str
    folder: Path
    log: Path
    slot: Slot
    is_stopped: Callable[[], bool]
    hurry: asyncio.Event
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        config = self.workspace.config.worktree
        return not config.copy and not config.setup

    async def run(self, mark: str, scratch: Path) -> bool:
        """Prepare the folder; False when it was interrupted. Raises SetupError.

        ``scratch`` is the private folder for ``mark``.
        """
        try:
            await run_in_thread(self._copy)
            return await self._command(mark, scratch)
        except SetupError:
            raise
        except BlackbirdError as error:
            raise SetupError(
                f"the set-up of {self.what} failed: {error.message}", hint=error.ways_out
            ) from error

    def _copy(self) -> None:
        config, repo = self.workspace.config.worktree, self.workspace.repo
        names = list_ignored(repo, config.copy)
        if (size := count_bytes(repo.top, names, self.folder)) > _SAID_BYTES:
            text = f"copying {render_bytes(size)} for {self.what}, which this file system cannot share"
            inform(self.ui, text, self.task_id)
        copy_files(repo.top, names, self.folder, self.is_stopped)

    async def _command(self, mark: str, scratch: Path) -> bool:
        text = self.workspace.config.worktree.setup
        if not text:
            return True
        inform(self.ui, f"setting up {self.what}: {text}", self.task_id)
        command = UserCommand(
            self.task_id,
            mark,
            text,
            self.folder,
            scratch,
            self.log,
            TimeLimit(self.workspace.config.check.timeout_seconds),
            {**self.variables, **self.slot.variables},
        )
        ended = await command.run(self.workspace, self.hurry)
        if ended.cause is ExitCause.INTERRUPTED:
            return False
        if ended.exit_code == 0 and ended.cause is ExitCause.EXITED:
            return True
        why = command.why_broken(ended) or describe_exit(ended.exit_code)
        raise SetupError(f"the set-up of {self.what} failed: {why}", hint=f"its output: {self.log}")


async def set_up_worktree(setup: SetUp, linked: Repository) -> bool:
    """Prepare the worktree of a task, once; False when it was interrupted. Raises SetupError, SaveError.

    One that was interrupted or killed is begun again.
    """
    if load_slot(linked) is not None:
        return True
    if not setup.is_empty:
        mark = setup_mark(linked)
        with scratch_dir(setup.workspace.paths, mark) as scratch:
            if not await setup.run(mark, scratch):
                return False
    save_slot(linked, setup.slot)
    return True
