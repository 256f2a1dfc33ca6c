"""Find the newest records of all tasks without reading the others."""

import heapq
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.system import is_exhausted
from git_blackbird.model.entities.history import RecordError
from git_blackbird.model.entities.provenance import UnconfirmedRecord
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.records import load_record

_ENDING = ".json"
_STAMP_DIGITS = 12
_OWN_LENGTH = 16 + len(_ENDING)
_MILLISECOND = 1_000_000
_DAY = 86_400_000
# Ids with an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600_000


class RecentRecords(NamedTuple):
    """The newest runs, newest first, and the files among them that cannot be used."""

    runs: list[Run]
    faults: list[RecordError]
    unconfirmed: list[UnconfirmedRecord]


class _Candidate(NamedTuple):
    """A record's start in milliseconds, as the hex digits that our ids begin with; its name and folder."""

    stamp: str
    name: str
    folder: str


def load_recent(paths: Paths, limit: int, now: int) -> RecentRecords:
    """Read the ``limit`` newest records, newest first; ``now`` is in nanoseconds since 1970.

    Folders are read in the order of their last change, until one changed before the oldest record found so
    far: it contains nothing newer.
    """
    own_ids = (_stamp(_FIRST_DAY), _stamp(now // _MILLISECOND + _DAY))
    best: list[_Candidate] = []
    least = ""
    for changed, folder in _folders(paths):
        if _stamp(changed // _MILLISECOND) < least:
            break
        newer = [candidate for candidate in _candidates(folder, own_ids) if candidate.stamp >= least]
        if newer:
            best = heapq.nlargest(limit, [*best, *newer])
            least = best[-1].stamp if len(best) == limit else ""
    ledger = Ledger(paths)
    ledger.refresh()
    found = [
        load_record(ledger, Path(candidate.folder, candidate.name), TaskId(Path(candidate.folder).name))
        for candidate in best
    ]
    runs = [entry for entry in found if isinstance(entry, Run)]
    runs.sort(key=lambda run: run.sort_key, reverse=True)
    return RecentRecords(
        runs,
        [entry for entry in found if isinstance(entry, RecordError)],
        [entry for entry in found if isinstance(entry, UnconfirmedRecord)],
    )


def _stamp(milliseconds: int) -> str:
    return f"{max(milliseconds, 0):012x}"


def _folders(paths: Paths) -> list[tuple[int, str]]:
    try:
        with os.scandir(paths.runs) as entries:
            found = [
                (entry.stat().st_mtime_ns, entry.path)
                for entry in entries
                if task_id_fault(entry.name) is None and entry.is_dir(follow_symlinks=False)
            ]
    except OSError as error:
        if is_exhausted(error):
            raise
        return []
    return sorted(found, reverse=True)


def _candidates(folder: str, own_ids: tuple[str, str]) -> Iterator[_Candidate]:
    """Return the records of one folder; the start of each is in its id, or else the time of its file.

    Ids of the Go program are random and contain no time. An unreadable folder is reported when its task is
    read.
    """
    first, last = own_ids
    try:
        names = os.listdir(folder)
    except OSError as error:
        if is_exhausted(error):
            raise
        return
    for name in names:
        if not name.endswith(_ENDING):
            continue
        stamp = name[:_STAMP_DIGITS]
        if not (first <= stamp <= last and len(name) == _OWN_LENGTH):
            stamp = _stamp(_changed(folder, name) // _MILLISECOND)
        yield _Candidate(stamp, name, folder)


def _changed(folder: str, name: str) -> int:
    try:
        return Path(folder, name).stat().st_mtime_ns
    except OSError:
        return 0


def unknown_files(paths: Paths, task_id: TaskId) -> list[str]:
    """List the files in a task's folder whose names are not those of records."""
    folder = paths.task_runs(task_id)
    try:
        with os.scandir(folder) as entries:
            strays = [
                entry.path
                for entry in entries
                if not entry.name.endswith(".json") and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return sorted(strays)
