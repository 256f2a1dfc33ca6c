"""Run records: one JSON file a run, read tolerantly, written whole."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.collector import collector_paused
from git_blackbird.model.history import NO_HISTORY, History, RecordFault
from git_blackbird.model.ids import TaskId, task_id_fault
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.recorded import known_fields, parse_part
from git_blackbird.model.run import Run
from git_blackbird.storage.json_text import dump_json, load_bounded_json
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.reading import folder_inside, load_entry, load_inside

_NOTHING: tuple[object, ...] = ([], "", {})
_ALWAYS = frozenset({"id", "provider", "startedAt", "context", "review_summary"})
# Two writes within one tick of the file system's clock leave the same time on a folder.
_TICK_NANOSECONDS = 100_000_000
_COARSE_TICK_NANOSECONDS = 2_100_000_000


def nothing() -> None:
    """Do nothing."""


Found = Run | RecordFault | UnconfirmedRecord
"""What a file among the records comes to."""


class _Kept(NamedTuple):
    changed: int
    history: History


class Records:
    """The run records of one worktree, read again only where a folder changed."""

    def __init__(self, layout: Layout, ledger: Ledger | None = None) -> None:
        self._layout = layout
        self._ledger = ledger or Ledger(layout)
        self._kept: dict[TaskId, _Kept] = {}

    def tasks(self) -> list[TaskId]:
        """Give every task that has a folder of records."""
        return [task_id for task_id, _ in self._folders()]

    def _folders(self) -> list[tuple[TaskId, int]]:
        """Give every folder of records with the time of its last change; 0 where that cannot be told."""
        try:
            with os.scandir(self._layout.runs) as entries:
                # An entry keeps all that it was asked for: many of them are let go one by one.
                named = [
                    (TaskId(entry.name), _changed(entry))
                    for entry in entries
                    if entry.name in self._kept or _is_named(entry)
                ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnusableError(f"cannot read {self._layout.runs}: {error.strerror}") from error
        return sorted(named)

    def history(self, task_id: TaskId) -> History:
        """Give the runs of one task. What is no record is named in ``faults``, and the others are read."""
        try:
            changed = self._layout.task_runs(task_id).stat().st_mtime_ns
        except OSError:
            changed = 0
        return self._history(task_id, changed)

    def _history(self, task_id: TaskId, changed: int) -> History:
        """Give the same of a folder whose last change, as it was seen before now, is known."""
        kept = self._kept.get(task_id)
        if kept is not None and kept.changed == changed:
            return self._with_reviews(task_id, kept.history)
        folder = self._layout.task_runs(task_id)
        try:
            history = self._read_folder(folder, task_id)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordFault(str(folder), _reason(error)),))
        if changed and _is_settled(changed):
            self._kept[task_id] = _Kept(changed, history)
        return self._with_reviews(task_id, history)

    def _with_reviews(self, task_id: TaskId, history: History) -> History:
        """Add what cannot be used among the reviews of a change, where what is due depends on them."""
        if not history.is_under_review:
            return history
        reviews = self.reviews(task_id)
        return replace(
            history,
            faults=(*history.faults, *reviews.faults),
            unconfirmed=(*history.unconfirmed, *reviews.unconfirmed),
        )

    def histories(self, between: Callable[[], object] = nothing) -> dict[TaskId, History]:
        """Give the runs of every task that has any; ``between`` two that are read may wait."""
        found: dict[TaskId, History] = {}
        with collector_paused():
            for task_id, changed in self._folders():
                between()
                found[task_id] = self._history(task_id, changed)
        return {task_id: history for task_id, history in found.items() if history != NO_HISTORY}

    def reviews(self, task_id: TaskId) -> History:
        """Give the spec and code reviews of one task's changes."""
        folder = self._layout.task_reviews(task_id)
        try:
            return self._read_folder(folder, task_id)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordFault(str(folder), _reason(error)),))

    def _read_folder(self, folder: Path, task_id: TaskId) -> History:
        """Read all records of a folder, wherever in the worktree it is."""
        top, ledger = self._layout.state_root, self._ledger
        ledger.refresh()
        with folder_inside(top, folder) as descriptor:
            names = _record_names(descriptor)
            found = [
                _parsed(ledger, folder / name, task_id, lambda path: load_entry(top, path, descriptor))
                for name in names
            ]
        return History(
            tuple(sorted((one for one in found if isinstance(one, Run)), key=lambda run: run.sort_key)),
            tuple(one for one in found if isinstance(one, RecordFault)),
            tuple(one for one in found if isinstance(one, UnconfirmedRecord)),
        )


def _is_named(folder: "os.DirEntry[str]") -> bool:
    return task_id_fault(folder.name) is None


def _changed(folder: "os.DirEntry[str]") -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _is_settled(changed: int) -> bool:
    """Whether a further write would leave another time; some file systems keep whole seconds only."""
    tick = _TICK_NANOSECONDS if changed % 1_000_000_000 else _COARSE_TICK_NANOSECONDS
    return time.time_ns() - changed > tick


def _record_names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if entry.name.endswith(".json") and not entry.is_dir())


def load_record(ledger: Ledger, path: Path, task_id: TaskId) -> Found:
    """Read one file of the ledger's worktree that must be a record of this task."""
    return _parsed(ledger, path, task_id, lambda path: load_inside(ledger.top, path))


def _parsed(ledger: Ledger, path: Path, task_id: TaskId, load: Callable[[Path], bytes]) -> Found:
    try:
        data = load(path)
    except OSError as error:
        return ledger.judge(path, b"") or RecordFault(str(path), _reason(error))
    try:
        return ledger.judge(path, data) or _parse_record(path, task_id, data)
    except ValueError as error:
        return RecordFault(str(path), _reason(error))


def _parse_record(path: Path, task_id: TaskId, data: bytes) -> Run:
    run = parse_part(Run, load_bounded_json(data))
    if run.task_id != task_id:
        raise ValueError(f"it is of task {run.task_id!r}, but lies with {task_id!r}")
    if f"{run.id}.json" != path.name:
        raise ValueError(f"it is of run {run.id!r}, but has another name")
    return run


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def record_path(layout: Layout, run: Run) -> Path:
    """Say where the record of a run lies."""
    place = layout.review_record if run.is_of_change else layout.record
    return place(run.task_id, run.id)


def render_record(run: Run) -> bytes:
    """Write a record: the Go program's fields in its order, then ours, then those this program does not know.

    A field of this program is absent where it has nothing to say; one it does not know stays as it came.
    """
    known = {
        name: value for name, value in known_fields(run).items() if value not in _NOTHING or name in _ALWAYS
    }
    if run.review_summary is not None:
        summary = known_fields(run.review_summary)
        slim = {name: value for name, value in summary.items() if value not in _NOTHING}
        known["review_summary"] = slim | dict(run.review_summary.unknown)
    return dump_json(known | dict(run.unknown))
