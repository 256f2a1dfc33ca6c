"""Slots: the number and the ports that one task at work has at a time."""

import contextlib
import hashlib
import itertools
import socket
import zlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from git_blackbird.agents.process import signals
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.worktree.linked import task_worktrees
from git_blackbird.model.base.ids import RunId
from git_blackbird.storage.files import write_private

PORTS_EACH = 10
# Between the ports that services are known by and those that systems give out.
_FIRST_PORT, _BLOCKS = 20_000, 1200
_LOOPBACK = "127.0.0.1"
_NAME = "slot"


class Slot(NamedTuple):
    """The number of a place to work, which one task at work has at a time, and the first of its ports."""

    number: int
    port: int

    @property
    def variables(self) -> Mapping[str, str]:
        return {"BLACKBIRD_SLOT": str(self.number), "BLACKBIRD_PORT": str(self.port)}


class Slots:
    """The slots of one call: each the lowest free number, with unused ports."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._taken: dict[int, int] = {}

    @contextlib.contextmanager
    def take(self, linked: Repository | None = None) -> Iterator[Slot]:
        """Take the slot that a worktree was set up with, or a free number. Raises UnusableError."""
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
    """Return the slot of a worktree; None if its set-up was not completed."""
    try:
        number, port = map(int, (linked.private_dir / _NAME).read_text(encoding="utf-8").split())
    except (OSError, ValueError):
        return None
    return Slot(number, port)


def setup_mark(linked: Repository) -> RunId:
    """Return the mark of a set-up's processes, the same in every call."""
    return RunId(f"setup-{hashlib.sha256(bytes(linked.top)).hexdigest()[:16]}")


def save_slot(linked: Repository, slot: Slot) -> None:
    """Note that a worktree is set up, and with which slot. Raises SaveError."""
    write_private(linked.private_dir / _NAME, f"{slot.number} {slot.port}\n".encode())


def stop_interrupted_setup(linked: Repository) -> None:
    if load_slot(linked) is None:
        signals.kill_orphans({}, setup_mark(linked), grace_seconds=0)
