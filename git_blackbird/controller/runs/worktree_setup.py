"""What an agent needs beside the files of a snapshot: ignored files, a command's work, a slot and ports."""

import asyncio
import contextlib
import hashlib
import itertools
import socket
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from git_blackbird.agents.process import signals
from git_blackbird.agents.process.launch import ExitCause
from git_blackbird.controller.core.ui import UserInterface, inform
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.runs.agent_process import scratch_dir
from git_blackbird.controller.runs.programs import UserCommand
from git_blackbird.errors import BlackbirdError, RequestError, UnusableError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.copying import copy_files, count_bytes, list_ignored
from git_blackbird.git.worktree.linked import task_worktrees
from git_blackbird.messages.display.format import render_bytes
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.places import HIDDEN
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.check import describe_exit
from git_blackbird.storage.files import write_private

PORTS_EACH = 10
# Between the ports that services are known by and those that systems give out.
_FIRST_PORT, _BLOCKS = 20_000, 1200
_LOOPBACK = "127.0.0.1"
_SAID_BYTES = 100 * 1000 * 1000
_NAME = "slot"


class SetupError(RequestError):
    """The worktree of a task could not be prepared, so the task does not start."""


class Slot(NamedTuple):
    """The number of a place to work, which one task at work has at a time, and the first of its ports."""

    number: int
    port: int

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that tell it."""
        return {"BLACKBIRD_SLOT": str(self.number), "BLACKBIRD_PORT": str(self.port)}


class Slots:
    """The slots of one call: the lowest free number, and ports that nobody uses."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._taken: dict[int, int] = {}

    @contextlib.contextmanager
    def take(self, linked: Repository | None = None) -> Iterator[Slot]:
        """Take a slot: the one that a worktree was set up with, or its ports with a number that is free.

        Raises UnusableError where no ports are free.
        """
        kept = None if linked is None else load_slot(linked)
        number = next(number for number in itertools.count() if number not in self._taken)
        if kept is not None and kept.number not in self._taken:
            number = kept.number
        slot = Slot(number, self._free_port() if kept is None else kept.port)
        self._taken[number] = slot.port
        try:
            yield slot
        finally:
            del self._taken[number]

    def _free_port(self) -> int:
        others = (load_slot(other.repo) for other in task_worktrees(self._workspace.repo))
        avoided = {*self._taken.values(), *(other.port for other in others if other is not None)}
        first = zlib.crc32(bytes(self._workspace.paths.private))
        for block in range(first, first + _BLOCKS):
            port = _FIRST_PORT + block % _BLOCKS * PORTS_EACH
            if port not in avoided and all(map(_is_free, range(port, port + PORTS_EACH))):
                return port
        raise UnusableError(f"there are no {PORTS_EACH} free ports in a row for a task")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((_LOOPBACK, port))
        except OSError:
            return False
    return True


def load_slot(linked: Repository) -> Slot | None:
    """Return what a worktree was set up with; None for one that was not, or whose set-up was cut off."""
    try:
        number, port = map(int, (linked.private_dir / _NAME).read_text(encoding="utf-8").split())
    except (OSError, ValueError):
        return None
    return Slot(number, port)


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
        """Whether there is nothing to prepare."""
        config = self.workspace.config.worktree
        return not config.copy_files and not config.setup

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
            raise SetupError(f"the set-up of {self.what} failed: {error.message}", hint=error.hint) from error

    def _copy(self) -> None:
        config, repo = self.workspace.config.worktree, self.workspace.repo
        names = list_ignored(repo, config.copy_files, HIDDEN)
        if (size := count_bytes(repo.top, names, self.folder)) > _SAID_BYTES:
            text = f"copying {render_bytes(size)} for {self.what}, which this file system cannot share"
            inform(self.ui, text, self.task_id)
        copy_files(repo.top, names, self.folder, self.is_stopped)

    async def _command(self, mark: str, scratch: Path) -> bool:
        config = self.workspace.config.worktree
        if not config.setup:
            return True
        inform(self.ui, f"setting up {self.what}: {clean_line(config.setup)}", self.task_id)
        command = UserCommand(
            self.task_id,
            mark,
            config.setup,
            self.folder,
            scratch,
            self.log,
            "worktree.setupSeconds",
            config.setup_seconds,
            {**self.variables, **self.slot.variables},
        )
        ended = await command.run(self.workspace, self.hurry)
        if ended.cause is ExitCause.INTERRUPTED:
            return False
        if ended.exit_code == 0 and ended.cause is ExitCause.EXITED:
            return True
        why = command.why_broken(ended) or describe_exit(ended.exit_code)
        raise SetupError(f"the set-up of {self.what} failed: {why}", hint=f"its output: {self.log}")


def _mark_of(linked: Repository) -> RunId:
    """Return what a set-up's processes are found by, also after this process was killed."""
    return RunId(f"setup-{hashlib.sha256(bytes(linked.top)).hexdigest()[:16]}")


def stop_cut_off(linked: Repository) -> None:
    """Stop what the set-up of a worktree left at work, if that was cut off."""
    if load_slot(linked) is None:
        signals.kill_orphans({}, _mark_of(linked), grace_seconds=0)


async def set_up_worktree(setup: SetUp, linked: Repository) -> bool:
    """Prepare the worktree of a task, once; False when it was interrupted. Raises SetupError, SaveError.

    One that was interrupted or killed is begun again.
    """
    if load_slot(linked) is not None:
        return True
    if not setup.is_empty:
        mark = _mark_of(linked)
        with scratch_dir(setup.workspace.paths, mark) as scratch:
            if not await setup.run(mark, scratch):
                return False
    write_private(linked.private_dir / _NAME, f"{setup.slot.number} {setup.slot.port}\n".encode())
    return True
