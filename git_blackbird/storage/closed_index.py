"""An index of the tasks that are done by their records, so that these are not read each time.

It lies in the git directory and may be removed at any time. A task counts for closed only while its folder
and its newest record are the same files, last changed at the same times, as before that record was read.
"""

import json
import os
import stat
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from git_blackbird import __version__
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.system import tick_of
from git_blackbird.model.entities.history import ClosedHistory, Histories
from git_blackbird.storage.files import write_private
from git_blackbird.storage.paths import Paths

# Reading fewer takes no longer than a few milliseconds.
_FEW = 200
# It is written again once it lacks one of so many tasks that are closed.
_PART = 50

_Mark = tuple[int, int, int, int]


class ClosedRecord(NamedTuple):
    """The newest record of a closed task, and when it or its folder last changed."""

    name: str
    changed: int


class _Entry(NamedTuple):
    """A folder, the name of the newest record in it, and both by what another or a changed one has not."""

    folder: _Mark
    name: str
    record: _Mark

    @property
    def changed(self) -> int:
        return max(*self.folder[:2], *self.record[:2])


class ClosedIndex:
    """The index of one worktree."""

    def __init__(self, paths: Paths) -> None:
        self._path = paths.closed_records
        self._runs = f"{paths.runs}/"
        self._entries: Mapping[TaskId, _Entry] | None = None

    def find(self, task_id: TaskId) -> ClosedRecord | None:
        """Return the newest record of a task that is still closed; None if it is not known to be."""
        if self._entries is None:
            self._entries = self._load()
        known = self._entries.get(task_id)
        if known is None or self._look(task_id, known.name) != known:
            return None
        return ClosedRecord(known.name, known.changed)

    def _look(self, task_id: str, name: str) -> _Entry | None:
        folder = self._runs + task_id
        try:
            above, record = os.stat(folder), os.lstat(f"{folder}/{name}")  # noqa: PTH116  # many of them
        except OSError:
            return None
        return _Entry(_mark(above), name, _mark(record)) if stat.S_ISREG(record.st_mode) else None

    def keep(self, histories: Histories, began: int) -> None:
        """Save which of these tasks are closed, if many are not in the index; they were read since ``began``.

        Raises SaveError.
        """
        closed = histories.keys() - histories.open.keys()
        if len(closed) < _FEW:
            return
        known = self._entries or {}
        entries = {
            task_id: known[task_id] for task_id in closed if isinstance(histories[task_id], ClosedHistory)
        }
        if (len(closed) - len(entries)) * _PART < len(closed):
            return
        for task_id in closed - entries.keys():
            recent = histories[task_id].recent
            entry = self._look(task_id, f"{recent[0].id}.json") if len(recent) == 1 else None
            # Whatever changes it after this leaves another time.
            if entry is not None and entry.changed + tick_of(entry.changed) < began:
                entries[task_id] = entry
        self._entries = entries
        text = json.dumps(entries)
        write_private(self._path, f"{_head(text)}\n{text}".encode())

    def _load(self) -> Mapping[TaskId, _Entry]:
        try:
            head, _, text = self._path.read_text().partition("\n")
            if head != _head(text):
                return {}
            return {
                TaskId(task_id): _Entry((*folder,), name, (*record,))
                for task_id, (folder, name, record) in json.loads(text).items()
            }
        except (OSError, ValueError):
            return {}


def _head(text: str) -> str:
    """Return the first line: another version may judge records otherwise, a crash may have torn the text."""
    return f"{__version__} {zlib.crc32(text.encode())}"


def _mark(status: os.stat_result) -> _Mark:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
