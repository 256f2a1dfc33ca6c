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
from git_blackbird.model.base.ids import PLANNING, TaskId, task_id_fault
from git_blackbird.model.base.system import gc_paused, is_exhausted, tick_of
from git_blackbird.model.change.change import Change, Histories
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.run.history import NO_HISTORY, History, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import opened_folder
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.record_file import (
    ENDING,
    KnownRecords,
    RecordOrError,
    load_record,
    parse_record,
    reason_of,
)

_STAMP_DIGITS = 12
_OUR_LENGTH = 16 + len(ENDING)
_MILLISECOND = 1_000_000
_DAY = 86_400_000
# Ids with an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600_000


def noop() -> None: ...


class RunStore:
    """The run records of one worktree, read again only after a change of a folder."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        # With the time of the last change of the folder.
        self._cached: dict[TaskId, tuple[int, History]] = {}
        self._reviews: dict[TaskId, tuple[int, History]] = {}
        # What folders have that changed so lately that another change may leave the same time.
        self._fresh: dict[str, KnownRecords] = {}

    def tasks(self) -> list[TaskId]:
        """Return every task that has a folder of records."""
        try:
            names = sorted(os.listdir(self._paths.runs))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnusableError(f"cannot read {self._paths.runs}: {error.strerror}") from error
        known = self._cached.keys() - {PLANNING}
        return [TaskId(name) for name in names if name in known or task_id_fault(name) is None]

    def _folders(self, *others: TaskId) -> list[tuple[TaskId, int]]:
        """Return every folder of records with the time of its last change; 0 if that is unknown."""
        above = f"{self._paths.runs}/"
        return [(task_id, _changed(above + task_id)) for task_id in (*self.tasks(), *others)]

    def history(self, task_id: TaskId) -> History:
        """Return the runs of one task; ``faults`` say why it cannot go on."""
        return self._history(task_id, _changed(self._paths.task_runs(task_id)), None)

    def _history(self, task_id: TaskId, changed: int, sweep: "_Sweep | None") -> History:
        """Return the history of a folder whose last change was seen before now.

        In a ``sweep``, records older than the latest that counts may be left to be read later.
        """
        cached = self._cached.get(task_id)
        if cached is not None and cached[0] == changed and (sweep or cached[1].is_whole):
            return self._with_reviews(task_id, cached[1])
        is_stable = _is_stable(changed)
        history = self._load_folder(f"{self._paths.runs}/{task_id}", task_id, sweep, is_stable=is_stable)
        if is_stable and not history.faults:
            self._cached[task_id] = changed, history
        return self._with_reviews(task_id, history)

    def stored(self, record: Path, task_id: TaskId) -> Run | None:
        """Return a record as its file is now; None where there is none that can be read."""
        try:
            known = self._fresh.get(str(record.parent))
            return parse_record(record.name, task_id, record.read_bytes(), known)
        except (OSError, ValueError):
            return None

    def _older(self, first: Run) -> tuple[Run, ...]:
        """Read the runs of a task before the first that was read."""
        return tuple(run for run in self.history(first.task_id).runs if run.sort_key < first.sort_key)

    def _with_reviews(self, task_id: TaskId, history: History) -> History:
        """Add the unusable reviews of a change, because the next action depends on them."""
        if not history.is_under_review:
            return history
        return replace(history, faults=(*history.faults, *self.reviews(task_id).faults))

    def histories(self, between: Callable[[], object] = noop) -> Histories:
        """Return the recent runs of every task that has any; call ``between`` after each task."""
        found, open_ones = {}, {}
        with gc_paused(), self._sweep() as sweep:
            for task_id, changed in self._folders():
                between()
                history = self._history(task_id, changed, sweep)
                if history is not NO_HISTORY:
                    found[task_id] = history
                    if not Change.of(history).is_closed:
                        open_ones[task_id] = history
        return Histories(found, open_ones)

    @contextlib.contextmanager
    def _sweep(self) -> Iterator["_Sweep"]:
        """Open the folder of all records once for all tasks, if it can be opened."""
        our_ids = _our_ids(time.time_ns())
        with contextlib.ExitStack() as stack:
            runs = None
            try:
                runs = stack.enter_context(opened_folder(str(self._paths.runs)))
            except OSError as error:
                if is_exhausted(error):
                    raise
            yield _Sweep(runs, our_ids)

    def histories_of(self, plan: Plan, task_ids: Iterable[TaskId]) -> dict[TaskId, History]:
        """Return the runs of parents, reviews among them, and of these tasks; read no others."""
        names = {task.id for task in plan.parents()} | (plan.tasks.keys() & set(task_ids))
        return {name: self.history(name) for name in sorted(names)}

    def recent(self, limit: int, now: int) -> History:
        """Read the ``limit`` newest records over all tasks; ``now`` is in nanoseconds since 1970.

        Folders are read in the order of their last change, until one changed before the oldest record found
        so far: it contains nothing newer.
        """
        our_ids = _our_ids(now)
        best: list[_Candidate] = []
        least = ""
        for changed, task_id in sorted(
            ((changed, name) for name, changed in self._folders(PLANNING)), reverse=True
        ):
            if _stamp(changed // _MILLISECOND) < least:
                break
            folder = self._paths.task_runs(task_id)
            newer = [candidate for candidate in _candidates(folder, our_ids) if candidate.stamp >= least]
            if newer:
                best = heapq.nlargest(limit, [*best, *newer])
                least = best[-1].stamp if len(best) == limit else ""
        entries: list[RecordOrError] = []
        for _, name, task_id in best:
            above = f"{self._paths.runs}/{task_id}"
            with opened_folder(above) as descriptor:
                entries.append(load_record(descriptor, f"{above}/{name}", task_id))
        return _by_kind(entries)

    def written_since(self, moment: int) -> Iterator[RecordOrError]:
        """Yield each record whose file changed at this moment or later, with the reviews of changes.

        Nothing is kept. ``moment`` is in nanoseconds since 1970.
        """
        for task_id in (*self.tasks(), PLANNING):
            for folder in (self._paths.task_runs(task_id), self._paths.task_reviews(task_id)):
                try:
                    with opened_folder(str(folder)) as descriptor:
                        for name in sorted(os.listdir(descriptor)):
                            is_record = name.endswith(ENDING)
                            if is_record and os.stat(name, dir_fd=descriptor).st_mtime_ns >= moment:
                                yield load_record(descriptor, f"{folder}/{name}", task_id)
                except (FileNotFoundError, NotADirectoryError):
                    break
                except OSError as error:
                    yield RecordError(str(folder), reason_of(error))
                    break

    def reviews(self, task_id: TaskId) -> History:
        """Return the spec and code reviews of one task's changes."""
        folder = self._paths.task_reviews(task_id)
        changed, cached = _changed(folder), self._reviews.get(task_id)
        if cached is not None and cached[0] == changed:
            return cached[1]
        is_stable = _is_stable(changed)
        history = self._load_folder(str(folder), task_id, None, is_stable=is_stable)
        if is_stable and not history.faults:
            self._reviews[task_id] = changed, history
        return history

    def _load_folder(
        self, folder: str, task_id: TaskId, sweep: "_Sweep | None", *, is_stable: bool
    ) -> History:
        """Read the records of a folder, newest first; what a fresh one has is known until it is stable."""
        known = self._fresh.pop(folder, None if is_stable else {})
        is_swept = sweep is not None and sweep.runs is not None
        place = task_id if is_swept else folder
        try:
            with opened_folder(place, sweep.runs if sweep else None) as descriptor:
                history = self._read_folder(descriptor, folder, task_id, sweep, known)
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            return History(faults=(RecordError(folder, reason_of(error)),))
        if known and not is_stable:
            self._fresh[folder] = known
        return history

    def _read_folder(
        self,
        descriptor: int,
        folder: str,
        task_id: TaskId,
        sweep: "_Sweep | None",
        known: KnownRecords | None,
    ) -> History:
        names = [name for name in os.listdir(descriptor) if name.endswith(ENDING)]
        names.sort()
        in_order = sweep is not None and _are_ours(names, sweep.our_ids)
        entries: list[RecordOrError] = []
        is_last = False
        while names and not is_last:
            entry = load_record(descriptor, f"{folder}/{names.pop()}", task_id, known)
            entries.append(entry)
            in_order = in_order and _is_named_by_start(entry)
            is_last = in_order and isinstance(entry, Run) and entry.counts
        if not entries:
            return NO_HISTORY
        read = _by_kind(entries[::-1])
        return replace(read, older=partial(self._older, read.recent[0])) if names else read


class _Sweep(NamedTuple):
    """One pass over the records of all tasks: their folder, if it is open, and the range of our ids."""

    runs: int | None
    our_ids: "_OurIds"


def _by_kind(entries: Sequence[RecordOrError]) -> History:
    runs = [entry for entry in entries if isinstance(entry, Run)]
    runs.sort(key=lambda run: run.sort_key)
    return History(tuple(runs), tuple(entry for entry in entries if isinstance(entry, RecordError)))


def _changed(place: Path | str) -> int:
    """Return when a folder or file last changed; 0 if that is unknown."""
    try:
        return os.stat(place).st_mtime_ns  # noqa: PTH116  # many of them
    except OSError:
        return 0


def _is_stable(changed: int) -> bool:
    """Whether another write would change the time; some file systems keep whole seconds only."""
    return changed > 0 and time.time_ns() - changed > tick_of(changed)


class _Candidate(NamedTuple):
    """A record's start in milliseconds, as the hex digits that our ids begin with; its name and task."""

    stamp: str
    name: str
    task_id: TaskId


def _stamp(milliseconds: int) -> str:
    return f"{max(milliseconds, 0):012x}"


class _OurIds(NamedTuple):
    """The first and the last prefix of ids that this program can have given to a run."""

    first: str
    last: str


def _our_ids(now: int) -> _OurIds:
    return _OurIds(_stamp(_FIRST_DAY), _stamp(now // _MILLISECOND + _DAY))


def _are_ours(names: Sequence[str], our_ids: _OurIds) -> bool:
    """Whether this program can have given all of these sorted names."""
    return (
        bool(names)
        and all(_is_ours(name, our_ids) for name in (names[0], names[-1]))
        and (set(map(len, names)) == {_OUR_LENGTH})
    )


def _is_ours(name: str, our_ids: _OurIds) -> bool:
    return our_ids.first <= name[:_STAMP_DIGITS] <= our_ids.last and len(name) == _OUR_LENGTH


def _is_named_by_start(entry: RecordOrError) -> bool:
    """Whether a record's name has its time of start, so that the order of names is that of runs."""
    return isinstance(entry, Run) and entry.id[:_STAMP_DIGITS] == _stamp(entry.sort_key[0] // _MILLISECOND)


def is_misnamed(run: Run, now: int) -> bool:
    """Whether a run's id looks like ours but does not have the time at which the run began.

    The names of our own records are in the order of time. ``now`` is in nanoseconds since 1970.
    """
    return _is_ours(f"{run.id}{ENDING}", _our_ids(now)) and not _is_named_by_start(run)


def _candidates(folder: Path, our_ids: _OurIds) -> Iterator[_Candidate]:
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
        if not _is_ours(name, our_ids):
            stamp = _stamp(_changed(folder / name) // _MILLISECOND)
        yield _Candidate(stamp, name, TaskId(folder.name))
