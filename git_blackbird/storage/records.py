"""Run records: one JSON file for each run, read tolerantly, written as a whole."""

import os
import time
from collections.abc import Callable, Container
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.entities.history import NO_HISTORY, History, RecordError
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.entities.provenance import UnconfirmedRecord
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.files import folder_inside, load_entry, load_inside
from git_blackbird.storage.json_codec import dump_json, load_part
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import Paths

_NOTHING: tuple[object, ...] = ((), [], "", {})
_ALWAYS = frozenset({"id", "provider", "startedAt", "context", "review_summary"})
# Two writes within one tick of the file system's clock leave the same time on a folder.
_TICK_NANOSECONDS = 100_000_000
_COARSE_TICK_NANOSECONDS = 2_100_000_000


def noop() -> None:
    """Do nothing."""


Found = Run | RecordError | UnconfirmedRecord
"""The result of reading one record file."""


class CachedHistory(NamedTuple):
    """A history, and when the folders of its task last changed."""

    changed: int
    history: History


class RunStore:
    """The run records of one worktree, read again only after a change of a folder."""

    def __init__(self, paths: Paths, ledger: Ledger | None = None) -> None:
        self._paths = paths
        self._ledger = ledger or Ledger(paths)
        self._kept: dict[TaskId, CachedHistory] = {}

    def tasks(self) -> list[TaskId]:
        """Return every task that has a folder of records."""
        return [task_id for task_id, _ in self._folders()]

    def _folders(self) -> list[tuple[TaskId, int]]:
        """Return every folder of records with the time of its last change; 0 if that is unknown."""
        try:
            with os.scandir(self._paths.runs) as entries:
                # DirEntry objects cache what they are asked for, and freeing many of them is slow.
                named = [
                    (TaskId(entry.name), _changed(entry))
                    for entry in entries
                    if entry.name in self._kept or _is_named(entry)
                ]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnusableError(f"cannot read {self._paths.runs}: {error.strerror}") from error
        return sorted(named)

    def history(self, task_id: TaskId) -> History:
        """Return the runs of one task; invalid files are listed in ``faults``."""
        try:
            changed = self._paths.task_runs(task_id).stat().st_mtime_ns
        except OSError:
            changed = 0
        return self._history(task_id, changed)

    def _history(self, task_id: TaskId, changed: int) -> History:
        """Return the history of a folder whose last change was seen before now."""
        cached = self._kept.get(task_id)
        if cached is not None and cached.changed == changed:
            return self._with_reviews(task_id, cached.history)
        folder = self._paths.task_runs(task_id)
        try:
            history = self._read_folder(folder, task_id)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordError(str(folder), _reason(error)),))
        if changed and _is_settled(changed):
            self._kept[task_id] = CachedHistory(changed, history)
        return self._with_reviews(task_id, history)

    def _with_reviews(self, task_id: TaskId, history: History) -> History:
        """Add the unusable reviews of a change, because the next action depends on them."""
        if not history.is_under_review:
            return history
        reviews = self.reviews(task_id)
        return replace(
            history,
            faults=(*history.faults, *reviews.faults),
            unconfirmed=(*history.unconfirmed, *reviews.unconfirmed),
        )

    def histories(self, between: Callable[[], object] = noop) -> dict[TaskId, History]:
        """Return the runs of every task that has any; call ``between`` after each task."""
        found: dict[TaskId, History] = {}
        with gc_paused():
            for task_id, changed in self._folders():
                between()
                found[task_id] = self._history(task_id, changed)
        return {task_id: history for task_id, history in found.items() if history != NO_HISTORY}

    def histories_of(self, plan: Plan, task_ids: Container[TaskId]) -> dict[TaskId, History]:
        """Return the runs of parents, which the reviews are among, and of these tasks; reads no others."""
        names = (task.id for task in plan.tasks.values() if task.children or task.id in task_ids)
        return {name: self.history(name) for name in names}

    def reviews(self, task_id: TaskId) -> History:
        """Return the spec and code reviews of one task's changes."""
        folder = self._paths.task_reviews(task_id)
        try:
            return self._read_folder(folder, task_id)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordError(str(folder), _reason(error)),))

    def _read_folder(self, folder: Path, task_id: TaskId) -> History:
        """Read all records of a folder, which may lie anywhere in the worktree."""
        top, ledger = self._paths.state_root, self._ledger
        ledger.refresh()
        with folder_inside(top, folder) as descriptor:
            names = _record_names(descriptor)
            found = [
                _parsed(ledger, folder / name, task_id, lambda path: load_entry(top, path, descriptor))
                for name in names
            ]
        return History(
            tuple(sorted((entry for entry in found if isinstance(entry, Run)), key=lambda run: run.sort_key)),
            tuple(entry for entry in found if isinstance(entry, RecordError)),
            tuple(entry for entry in found if isinstance(entry, UnconfirmedRecord)),
        )


def _is_named(folder: "os.DirEntry[str]") -> bool:
    return task_id_fault(folder.name) is None


def _changed(folder: "os.DirEntry[str]") -> int:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return 0


def _is_settled(changed: int) -> bool:
    """Whether another write would change the time; some file systems keep whole seconds only."""
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
        return ledger.judge(path, b"") or RecordError(str(path), _reason(error))
    try:
        return ledger.judge(path, data) or _parse_record(path, task_id, data)
    except ValueError as error:
        return RecordError(str(path), _reason(error))


def _parse_record(path: Path, task_id: TaskId, data: bytes) -> Run:
    run = load_part(Run, data)
    if run.task_id != task_id:
        raise ValueError(f"it is of task {run.task_id!r}, but lies with {task_id!r}")
    if f"{run.id}.json" != path.name:
        raise ValueError(f"it is of run {run.id!r}, but has another name")
    return run


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def record_path(paths: Paths, run: Run) -> Path:
    """Return the path of a run's record."""
    place = paths.review_record if run.is_of_change else paths.record
    return place(run.task_id, run.id)


def render_record(run: Run) -> bytes:
    """Serialize a record: the Go program's fields in its order, then ours, then unknown ones.

    A field of this program is left out if it is empty; an unknown one stays unchanged.
    """
    # By json, because pydantic writes names that are not UTF-8 differently than ``dump_json``.
    fields = run.model_dump()
    if run.review_summary is not None:
        fields["review_summary"] = _without_nothing(fields["review_summary"], run.review_summary)
    return dump_json(_without_nothing(fields, run))


def _without_nothing(fields: dict[str, Any], part: Record) -> dict[str, Any]:
    shown = _ALWAYS | (part.model_extra or {}).keys()
    return {name: value for name, value in fields.items() if value not in _NOTHING or name in shown}
