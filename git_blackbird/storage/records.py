"""Run records, one JSON file for each run, and the newest of all tasks without reading the others."""

import contextlib
import heapq
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.system import gc_paused, is_exhausted, tick_of
from git_blackbird.model.entities.history import NO_HISTORY, NO_OLDER, ClosedHistory, Histories, History
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.entities.provenance import RecordError, UnconfirmedRecord, WatchedRun
from git_blackbird.model.entities.run import Run
from git_blackbird.storage.closed_index import ClosedIndex
from git_blackbird.storage.files import SaveError, open_folder
from git_blackbird.storage.ledger import Ledger
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.record_file import ENDING, Found, load_record, reason_of

_STAMP_DIGITS = 12
_OWN_LENGTH = 16 + len(ENDING)
_MILLISECOND = 1_000_000
_DAY = 86_400_000
_UNREAD = -1, NO_HISTORY
_RUNS = "runs/"
# Ids with an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600_000


def noop() -> None:
    """Do nothing."""


ByKind = tuple[tuple[Run, ...], tuple[RecordError, ...], tuple[UnconfirmedRecord, ...]]
"""Usable runs, and the files that cannot be used or do not count."""


class RunStore:
    """The run records of one worktree, read again only after a change of a folder."""

    def __init__(self, paths: Paths, ledger: Ledger | None = None) -> None:
        self._paths = paths
        self._ledger = ledger or Ledger(paths)
        self._closed = ClosedIndex(paths)
        # With the time of the last change of the folder.
        self._cached: dict[TaskId, tuple[int, History]] = {}
        # What was read last while runs were at work, the first of which began at that time.
        self._last: tuple[int, Histories] | None = None

    def tasks(self) -> list[TaskId]:
        """Return every task that has a folder of records."""
        try:
            names = sorted(os.listdir(self._paths.runs))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnusableError(f"cannot read {self._paths.runs}: {error.strerror}") from error
        return [TaskId(name) for name in names if name in self._cached or task_id_fault(name) is None]

    def _folders(self) -> list[tuple[TaskId, int]]:
        """Return every folder of records with the time of its last change; 0 if that is unknown."""
        above = f"{self._paths.runs}/"
        return [(task_id, _changed(above + task_id)) for task_id in self.tasks()]

    def history(self, task_id: TaskId) -> History:
        """Return the runs of one task; invalid files are listed in ``faults``."""
        return self._history(task_id, _changed(self._paths.task_runs(task_id)), None)

    def _history(self, task_id: TaskId, changed: int, sweep: "_Sweep | None") -> History:
        """Return the history of a folder whose last change was seen before now.

        In a ``sweep``, records older than the latest that counts may be left to be read later.
        """
        cached = self._cached.get(task_id)
        if cached is not None and cached[0] == changed and (sweep or cached[1].is_whole):
            return self._with_reviews(task_id, cached[1])
        folder = f"{self._paths.runs}/{task_id}"
        if sweep is not None and self._is_closed(task_id, folder):
            history: History = ClosedHistory(partial(self._load_folder, folder, task_id, sweep.later))
        else:
            history = self._load_folder(folder, task_id, sweep)
        if changed and not history.faults and _is_settled(changed):
            self._cached[task_id] = changed, history
        return self._with_reviews(task_id, history)

    def _is_closed(self, task_id: TaskId, folder: str) -> bool:
        """Whether the records of a task are known to say that it is done, and were ours to write."""
        if self._ledger.names_any(folder):
            return False
        newest = self._closed.find(task_id)
        return newest is not None and self._ledger.is_untouched(f"{folder}/{newest.name}", newest.changed)

    def _older(self, first: Run) -> tuple[Run, ...]:
        """Read what was left out: the runs of a task before the first that was read."""
        runs = self.history(first.task_id).runs
        return tuple(run for run in runs if run.sort_key < first.sort_key)

    def _with_reviews(self, task_id: TaskId, history: History) -> History:
        """Add the unusable reviews of a change, because the next action depends on them."""
        if history.is_closed or not history.is_under_review:
            return history
        reviews = self.reviews(task_id)
        return replace(
            history,
            faults=(*history.faults, *reviews.faults),
            unconfirmed=(*history.unconfirmed, *reviews.unconfirmed),
        )

    def histories(self, between: Callable[[], object] = noop) -> Histories:
        """Return the recent runs of every task that has any; call ``between`` after each task."""
        with gc_paused(), self._sweep() as sweep:
            histories = self._updated(Histories({}, {}), self._folders(), sweep, between)
        self._last = None if sweep.watched is None else (sweep.watched.since, histories)
        return histories

    def histories_kept(self) -> Histories:
        """Return the same, and save which tasks are closed, so that the next call need not read those."""
        is_first, began = not self._cached, time.time_ns()
        histories = self.histories()
        if is_first:
            with contextlib.suppress(SaveError):  # without room they are read again
                self._closed.keep(histories, began)
        return histories

    def histories_again(self) -> Histories:
        """Return the same, under the store lock.

        From one look at all folders to the end of the runs at work, what counts is in those that our commands
        have noted, or in those of tasks that are not closed; only these are looked at.
        """
        watched = self._ledger.refresh()
        if watched is None or self._last is None or self._last[0] != watched.since:
            return self.histories()
        histories = self._last[1]
        noted = {TaskId(place.split("/", 2)[1]) for place in watched.written if place.startswith(_RUNS)}
        runs = f"{self._paths.runs}/"
        folders = [(name, _changed(runs + name)) for name in sorted(noted | histories.open.keys())]
        with gc_paused(), self._sweep() as sweep:
            histories = self._updated(histories, folders, sweep, noop)
        self._last = watched.since, histories
        return histories

    def _updated(
        self,
        histories: Histories,
        folders: Iterable[tuple[TaskId, int]],
        sweep: "_Sweep",
        between: Callable[[], object],
    ) -> Histories:
        """Return the histories with those of some folders, each with the time of its last change."""
        updated, open_ones = dict(histories), dict(histories.open)
        for task_id, changed in folders:
            between()
            read, history = self._cached.get(task_id, _UNREAD)
            if read != changed or not history.is_closed:
                history = self._history(task_id, changed, sweep)
            if history is not NO_HISTORY:
                updated[task_id] = history
            elif updated:
                updated.pop(task_id, None)
            if history is NO_HISTORY or history.is_closed:
                open_ones.pop(task_id, None)
            else:
                open_ones[task_id] = history
        return Histories(updated, open_ones)

    @contextlib.contextmanager
    def _sweep(self) -> Iterator["_Sweep"]:
        """Open the folder of all records once for all tasks, if it can be opened."""
        own_ids = _own_ids(time.time_ns())
        watched = self._ledger.refresh()
        try:
            runs = open_folder(self._paths.state_root, str(self._paths.runs))
        except OSError as error:
            if is_exhausted(error):
                raise
            yield _Sweep(None, own_ids, watched)
            return
        try:
            yield _Sweep(runs, own_ids, watched)
        finally:
            os.close(runs)

    def histories_of(self, plan: Plan, task_ids: Iterable[TaskId]) -> dict[TaskId, History]:
        """Return the runs of parents, which the reviews are among, and of these tasks; reads no others."""
        names = {task.id for task in plan.parents()} | (plan.tasks.keys() & set(task_ids))
        return {name: self.history(name) for name in sorted(names)}

    def recent(self, limit: int, now: int) -> ByKind:
        """Read the ``limit`` newest records, newest first; ``now`` is in nanoseconds since 1970.

        Folders are read in the order of their last change, until one changed before the oldest record found
        so far: it contains nothing newer.
        """
        own_ids = _own_ids(now)
        best: list[_Candidate] = []
        least = ""
        for changed, task_id in sorted(((changed, name) for name, changed in self._folders()), reverse=True):
            if _stamp(changed // _MILLISECOND) < least:
                break
            folder = self._paths.task_runs(task_id)
            newer = [candidate for candidate in _candidates(folder, own_ids) if candidate.stamp >= least]
            if newer:
                best = heapq.nlargest(limit, [*best, *newer])
                least = best[-1].stamp if len(best) == limit else ""
        self._ledger.refresh()
        entries = [
            load_record(self._ledger, f"{self._paths.runs}/{task_id}/{name}", task_id)
            for _, name, task_id in best
        ]
        runs, faults, unconfirmed = _by_kind(entries)
        return runs[::-1], faults, unconfirmed

    def reviews(self, task_id: TaskId) -> History:
        """Return the spec and code reviews of one task's changes."""
        return self._load_folder(str(self._paths.task_reviews(task_id)), task_id, None)

    def _load_folder(self, folder: str, task_id: TaskId, sweep: "_Sweep | None") -> History:
        try:
            descriptor = open_folder(self._paths.state_root, folder, sweep.runs if sweep else None)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordError(folder, reason_of(error)),))
        try:
            return self._read_folder(_Folder(folder, descriptor, task_id), sweep)
        except OSError as error:
            return History(faults=(RecordError(folder, reason_of(error)),))
        finally:
            os.close(descriptor)

    def _read_folder(self, folder: "_Folder", sweep: "_Sweep | None") -> History:
        """Read the records of a folder, which may lie anywhere in the worktree, newest first."""
        if sweep is None:
            self._ledger.refresh()
        names = [name for name in os.listdir(folder.descriptor) if name.endswith(ENDING)]
        names.sort()
        in_order = sweep is not None and _are_own(names, sweep.own_ids)
        in_order = in_order and not self._ledger.names_any(folder.path)
        entries: list[Found] = []
        while names and not (in_order and entries and _is_counted(entries[-1])):
            path = f"{folder.path}/{names.pop()}"
            entry = load_record(self._ledger, path, folder.task_id, folder.descriptor)
            if isinstance(entry, Run) or not os.path.isdir(path):  # noqa: PTH112  # many of them
                entries.append(entry)
                in_order = in_order and _is_named_by_start(entry)
        if not entries:
            return NO_HISTORY
        runs, faults, unconfirmed = _by_kind(entries[::-1])
        return History(runs, faults, unconfirmed, partial(self._older, runs[0]) if names else NO_OLDER)


class _Sweep(NamedTuple):
    """One look at the records of all tasks: their folder, if it is open, and the ids we can have given.

    ``watched`` is what was known of runs at work when it began.
    """

    runs: int | None
    own_ids: "_OwnIds"
    watched: WatchedRun | None

    @property
    def later(self) -> "_Sweep":
        """The same, once that folder is closed."""
        return self._replace(runs=None)


class _Folder(NamedTuple):
    """An open folder of a task's records."""

    path: str
    descriptor: int
    task_id: TaskId


def _by_kind(entries: list[Found]) -> ByKind:
    runs = [entry for entry in entries if isinstance(entry, Run)]
    if len(runs) > 1:
        runs.sort(key=lambda run: run.sort_key)
    return (
        tuple(runs),
        tuple(entry for entry in entries if isinstance(entry, RecordError)),
        tuple(entry for entry in entries if isinstance(entry, UnconfirmedRecord)),
    )


def _changed(place: Path | str) -> int:
    """Return when a folder or file last changed; 0 if that is unknown."""
    try:
        return os.stat(place).st_mtime_ns  # noqa: PTH116  # many of them
    except OSError:
        return 0


def _is_settled(changed: int) -> bool:
    """Whether another write would change the time; some file systems keep whole seconds only."""
    return time.time_ns() - changed > tick_of(changed)


class _Candidate(NamedTuple):
    """A record's start in milliseconds, as the hex digits that our ids begin with; its name and task."""

    stamp: str
    name: str
    task_id: TaskId


def _stamp(milliseconds: int) -> str:
    return f"{max(milliseconds, 0):012x}"


class _OwnIds(NamedTuple):
    """The first and the last beginning of an id that this program can have given to a run."""

    first: str
    last: str


def _own_ids(now: int) -> _OwnIds:
    return _OwnIds(_stamp(_FIRST_DAY), _stamp(now // _MILLISECOND + _DAY))


def _are_own(names: Sequence[str], own_ids: _OwnIds) -> bool:
    """Whether all of these, which are sorted, are names that this program can have given."""
    return (
        bool(names)
        and all(_is_own(name, own_ids) for name in (names[0], names[-1]))
        and (set(map(len, names)) == {_OWN_LENGTH})
    )


def _is_own(name: str, own_ids: _OwnIds) -> bool:
    return own_ids.first <= name[:_STAMP_DIGITS] <= own_ids.last and len(name) == _OWN_LENGTH


def _is_counted(entry: Found) -> bool:
    return isinstance(entry, Run) and entry.counts


def _is_named_by_start(entry: Found) -> bool:
    """Whether a record began when its name says, so that the order of names is that of runs."""
    return isinstance(entry, Run) and entry.id[:_STAMP_DIGITS] == _stamp(entry.sort_key[0] // _MILLISECOND)


def _candidates(folder: Path, own_ids: _OwnIds) -> Iterator[_Candidate]:
    """Return the records of one folder; the start of each is in its id, or else the time of its file.

    Ids of the Go program are random and contain no time. An unreadable folder is reported when its task is
    read.
    """
    try:
        names = os.listdir(folder)
    except OSError as error:
        if is_exhausted(error):
            raise
        return
    for name in names:
        if not name.endswith(ENDING):
            continue
        stamp = name[:_STAMP_DIGITS]
        if not _is_own(name, own_ids):
            stamp = _stamp(_changed(folder / name) // _MILLISECOND)
        yield _Candidate(stamp, name, TaskId(folder.name))
