"""The newest records over all tasks without reading the others, and what lies among them by mistake."""

import heapq
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import TaskId, task_id_fault
from git_blackbird.model.provenance import UnconfirmedRecord
from git_blackbird.model.run import Run
from git_blackbird.model.system_faults import is_exhausted
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.records import load_record

_ENDING = ".json"
_STAMP_DIGITS = 12
_OWN_LENGTH = 16 + len(_ENDING)
_MILLISECOND = 1_000_000
_DAY = 86_400_000
# Ids that name an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600_000


class Newest(NamedTuple):
    """The newest runs, newest first, and what lies among them that is not used."""

    runs: list[Run]
    faults: list[RecordFault]
    unconfirmed: list[UnconfirmedRecord]


class _Candidate(NamedTuple):
    """A record's start in milliseconds, as the hex digits that our ids begin with; its name and folder."""

    stamp: str
    name: str
    folder: str


def load_newest(layout: Layout, limit: int, now: int) -> Newest:
    """Read the ``limit`` newest records, newest first; ``now`` is in nanoseconds since 1970.

    Folders are looked at in the order in which they last changed, and no further than one that changed
    before the oldest record found so far began: nothing newer can lie in it.
    """
    own_ids = (_stamp(_FIRST_DAY), _stamp(now // _MILLISECOND + _DAY))
    best: list[_Candidate] = []
    least = ""
    for changed, folder in _folders(layout):
        if _stamp(changed // _MILLISECOND) < least:
            break
        newer = [one for one in _candidates(folder, own_ids) if one.stamp >= least]
        if newer:
            best = heapq.nlargest(limit, [*best, *newer])
            least = best[-1].stamp if len(best) == limit else ""
    ledger = Ledger(layout)
    ledger.refresh()
    found = [load_record(ledger, Path(one.folder, one.name), TaskId(Path(one.folder).name)) for one in best]
    runs = [one for one in found if isinstance(one, Run)]
    runs.sort(key=lambda run: run.sort_key, reverse=True)
    return Newest(
        runs,
        [one for one in found if isinstance(one, RecordFault)],
        [one for one in found if isinstance(one, UnconfirmedRecord)],
    )


def _stamp(milliseconds: int) -> str:
    return f"{max(milliseconds, 0):012x}"


def _folders(layout: Layout) -> list[tuple[int, str]]:
    try:
        with os.scandir(layout.runs) as entries:
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
    """Give the records of one folder; the start of one is in its id, or else in the time of its file.

    Ids of the Go program are random and name no time. A folder that cannot be read is named by what
    looks at its task.
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
    except OSError:
        return []
    return sorted(strays)
