"""The newest records over all tasks without reading the others, and what lies among them by mistake."""

import heapq
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import TaskId, is_run_id, task_id_fault
from git_blackbird.model.run import Run
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.records import load_record

_MILLISECOND = 1_000_000
_DAY = 86_400 * 1000 * _MILLISECOND
# Ids that name an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600 * 1000 * _MILLISECOND


@dataclass(frozen=True, order=True)
class _Candidate:
    moment: int
    name: str
    task_id: TaskId
    path: Path


def load_newest(layout: Layout, limit: int, now: int) -> tuple[list[Run], list[RecordFault]]:
    """Read the ``limit`` newest records, newest first; ``now`` is in nanoseconds since 1970.

    Folders are looked at in the order in which they last changed, and no further than one that changed
    before the oldest record found so far began: nothing newer can lie in it.
    """
    best: list[_Candidate] = []
    for changed, folder in _folders(layout):
        if len(best) == limit and changed < best[-1].moment:
            break
        best = heapq.nlargest(limit, [*best, *_candidates(folder, now)])
    found = [load_record(one.path, one.task_id) for one in best]
    runs = [one for one in found if isinstance(one, Run)]
    runs.sort(key=lambda run: run.sort_key, reverse=True)
    return runs, [one for one in found if isinstance(one, RecordFault)]


def _folders(layout: Layout) -> list[tuple[int, Path]]:
    try:
        with os.scandir(layout.runs) as entries:
            found = [
                (entry.stat().st_mtime_ns, Path(entry.path))
                for entry in entries
                if task_id_fault(entry.name) is None and entry.is_dir()
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found, reverse=True)


def _candidates(folder: Path, now: int) -> Iterator[_Candidate]:
    for name in os.listdir(folder):
        stem, dot, ending = name.rpartition(".")
        if not dot or ending != "json":
            continue
        path = folder / name
        moment = _started(stem, now)
        yield _Candidate(_changed(path) if moment is None else moment, name, TaskId(folder.name), path)


def _started(stem: str, now: int) -> int | None:
    """Read the start out of an id of ours; ids of the Go program are random and name no time."""
    if not is_run_id(stem):
        return None
    moment = int(stem[:12], 16) * _MILLISECOND
    return moment if _FIRST_DAY <= moment <= now + _DAY else None


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def stray_files(layout: Layout, task_id: TaskId) -> list[str]:
    """Name the files in a task's folder that are no records by their very name."""
    folder = layout.task_runs(task_id)
    try:
        with os.scandir(folder) as entries:
            strays = [
                entry.path
                for entry in entries
                if not entry.name.endswith(".json") and entry.is_file(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(strays)
