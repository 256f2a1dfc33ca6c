"""Run records: one JSON file a run, read tolerantly, written whole."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from git_blackbird.model.history import History, RecordFault
from git_blackbird.model.ids import TaskId, task_id_fault
from git_blackbird.model.run import Run
from git_blackbird.storage.json_text import JsonFault, dump_json, load_json
from git_blackbird.storage.layout import Layout

_ALWAYS = frozenset({"context", "provider"})
# Two writes within one tick of the file system's clock leave the same time on a folder.
_TICK_NANOSECONDS = 100_000_000


@dataclass(frozen=True)
class _Kept:
    changed: int
    history: History


class Records:
    """The run records of one worktree, read again only where a folder changed."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._kept: dict[TaskId, _Kept] = {}

    def tasks(self) -> list[TaskId]:
        """Give every task that has a folder of records."""
        try:
            names = os.listdir(self._layout.runs)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(TaskId(name) for name in names if task_id_fault(name) is None)

    def history(self, task_id: TaskId) -> History:
        """Give the runs of one task. What is no record is named in ``faults``, and the others are read."""
        folder = self._layout.task_runs(task_id)
        try:
            changed = folder.stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return History()
        kept = self._kept.get(task_id)
        if kept is not None and kept.changed == changed:
            return kept.history
        history = _read_folder(folder, task_id)
        if time.time_ns() - changed > _TICK_NANOSECONDS:
            self._kept[task_id] = _Kept(changed, history)
        return history

    def histories(self) -> dict[TaskId, History]:
        """Give the runs of every task that has any."""
        found = {task_id: self.history(task_id) for task_id in self.tasks()}
        return {task_id: history for task_id, history in found.items() if history.runs or history.faults}


def _read_folder(folder: Path, task_id: TaskId) -> History:
    runs: list[Run] = []
    faults: list[RecordFault] = []
    for name in sorted(os.listdir(folder)):
        path = folder / name
        if not name.endswith(".json") or path.is_dir():
            continue
        found = load_record(path, task_id)
        if isinstance(found, Run):
            runs.append(found)
        else:
            faults.append(found)
    runs.sort(key=lambda run: run.sort_key)
    return History(tuple(runs), tuple(faults))


def load_record(path: Path, task_id: TaskId) -> Run | RecordFault:
    """Read one file that must be a record of this task."""
    try:
        return _read_record(path, task_id)
    except (OSError, JsonFault, ValidationError, ValueError) as error:
        return RecordFault(str(path), _reason(error))


def _read_record(path: Path, task_id: TaskId) -> Run:
    run = Run.model_validate(load_json(path.read_bytes()))
    if run.task_id != task_id:
        raise ValueError(f"it is of task {run.task_id!r}, but lies with {task_id!r}")
    if f"{run.id}.json" != path.name:
        raise ValueError(f"it is of run {run.id!r}, but has another name")
    return run


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the record'}: {first['msg']}"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def render_record(run: Run) -> bytes:
    """Write a record: the Go program's fields in its order, then ours; absent where there is nothing to say."""
    whole = run.model_dump(mode="json", by_alias=True, exclude_none=True)
    known = {
        name: value
        for name, value in whole.items()
        if name in _ALWAYS or value not in ([], "", {}) or name == "review_summary"
    }
    if "review_summary" in known:
        known["review_summary"] = _slim(known["review_summary"])
    return dump_json(known)


def _slim(summary: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if value not in ([], "")}
