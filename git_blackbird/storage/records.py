"""Run records: one file for each run, and the newest of all tasks without reading the others."""

import heapq
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId, task_id_fault
from git_blackbird.model.base.record import Record, masked, masked_texts
from git_blackbird.model.base.system import gc_paused, is_exhausted, tick_of
from git_blackbird.model.change.change import Change, Histories
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.run.contradictions import refuse_contradictions
from git_blackbird.model.run.history import NO_HISTORY, History, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import changed_at, load_in, opened_folder
from git_blackbird.storage.json_codec import dump_json, load_part
from git_blackbird.storage.paths import Paths

if TYPE_CHECKING:
    from git_blackbird.model.base.redaction import Redactor

_NOTHING: tuple[object, ...] = ((), [], "", {})
_ALWAYS = frozenset({"id", "provider", "startedAt", "context", "review_summary"})
ENDING = ".json"

_STAMP_DIGITS = 12
_OUR_LENGTH = 16 + len(ENDING)
_MILLISECOND = 1_000_000
_DAY = 86_400_000
# Ids with an earlier time than this program can have run at are not ours.
_FIRST_DAY = 1_735_689_600_000


def noop() -> None: ...


RecordOrError = Run | RecordError
"""The result of reading one record file."""

KnownRecords = dict[str, tuple[bytes, Run]]
"""Records of one folder by their file names: the same bytes are the same record."""


def load_record(folder: int, path: str, task_id: TaskId, known: KnownRecords | None = None) -> RecordOrError:
    """Read a file in an open folder, whose name ends ``path``; it must be a record of this task."""
    name = path[path.rindex("/") + 1 :]
    try:
        return parse_record(name, task_id, load_in(folder, name), known)
    except (OSError, ValueError) as error:
        return RecordError(path, reason_of(error))


def parse_record(name: str, task_id: TaskId, data: bytes, known: KnownRecords | None = None) -> Run:
    """Read the content of a file of that name. Raises ValueError where it is no record of this task.

    One with the bytes of a ``known`` record is not parsed again; what is parsed is added to those.
    """
    before = None if known is None else known.get(name)
    if before is not None and before[0] == data:
        return before[1]
    run = load_part(Run, data)
    refuse_contradictions(run)
    if run.task_id != task_id:
        raise ValueError(f"it is a record of task {run.task_id!r} in the folder of {task_id!r}")
    if name != f"{run.id}{ENDING}":
        raise ValueError(f"it is the record of run {run.id!r} under another name")
    if known is not None:
        known[name] = data, run
    return run


def reason_of(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)


def record_path(paths: Paths, run: Run) -> Path:
    place = paths.review_record if run.is_of_change else paths.record
    return place(run.task_id, run.id)


def render_record(run: Run, redactor: "Redactor | None" = None) -> bytes:
    """Serialize a record: the Go program's fields in its order, then ours, then unknown ones.

    A field of this program is left out if it is empty; an unknown one stays unchanged. All texts are masked
    but those of ``Unmasked`` fields, and unknown ones.
    """
    # Hardly any record has a secret, and all its texts are searched as fast as one of them.
    if redactor is not None and redactor.finds_any(masked_texts(run)):
        run = masked(run, redactor.mask_text)
    # By json, because pydantic writes names that are not UTF-8 differently than ``dump_json``.
    fields = run.model_dump()
    if run.review_summary is not None:
        fields["review_summary"] = _without_nothing(fields["review_summary"], run.review_summary)
    return dump_json(_without_nothing(fields, run))


def _without_nothing(fields: dict[str, Any], part: Record) -> dict[str, Any]:
    shown = _ALWAYS | (part.model_extra or {}).keys()
    return {name: value for name, value in fields.items() if value not in _NOTHING or name in shown}


class _Cached(NamedTuple):
    """The records of a folder that last changed at ``changed``."""

    changed: int
    history: History
    is_closed: bool


class RunStore:
    """The run records of one worktree, read again only after a change of a folder."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._cached: dict[str, _Cached] = {}
        # What folders have that changed so lately that another change may leave the same time.
        self._fresh: dict[str, KnownRecords] = {}
        # What was found under the store lock, and the tasks of which this process saved records since; None
        # where another may have saved some.
        self._latest: Histories | None = None
        self._changed: set[TaskId] = set()

    def tasks(self) -> list[TaskId]:
        """Return every task that has a folder of records."""
        return [TaskId(name) for name in self._names() if task_id_fault(name) is None]

    def _names(self) -> list[str]:
        try:
            return sorted({*os.listdir(self._paths.runs)} - {PLANNING})
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UnusableError(f"cannot read {self._paths.runs}: {error.strerror}") from error

    def history(self, task_id: TaskId) -> History:
        """Return the runs of one task; ``faults`` say why it cannot go on."""
        return self._history(str(self._paths.task_runs(task_id)), task_id)

    def _history(self, folder: str, task_id: TaskId, our_ids: "_OurIds | None" = None) -> History:
        history = self._read(folder, task_id, our_ids)
        if not history.is_under_review:
            return history
        # The next action depends on unusable reviews of the change, too.
        return replace(history, faults=(*history.faults, *self.reviews(task_id).faults))

    def reviews(self, task_id: TaskId) -> History:
        """Return the spec and code reviews of one task's changes."""
        return self._read(str(self._paths.task_reviews(task_id)), task_id)

    def stored(self, record: Path, task_id: TaskId) -> Run | None:
        """Return a record as its file is now; None where there is none that can be read."""
        return self._read(str(record.parent), task_id).find(RunId(record.stem))

    def validate(self, record: Path, task_id: TaskId, data: bytes) -> None:
        """Read a record as it is about to be saved. Raises ValueError where nobody could read it again."""
        parse_record(record.name, task_id, data, self._fresh.setdefault(str(record.parent), {}))

    def histories(self, between: Callable[[], object] = noop) -> Histories:
        """Return the recent runs of every task that has any; call ``between`` after each task."""
        return self._histories({}, self._names(), between)

    def latest_histories(self) -> Histories:
        """Return what ``histories`` does. Requires the store lock.

        Only tasks that are not closed, and those with records saved here since, are looked at again while no
        other process took the lock: of a large plan the few.
        """
        if self._latest is None:
            self._latest = self.histories()
        else:
            names = sorted(self._latest.open.keys() | self._changed)
            self._latest = self._histories(dict(self._latest), names, noop)
        self._changed.clear()
        return self._latest

    def forget_latest(self) -> None:
        """Note that another process may have saved records."""
        self._latest = None

    def changing(self, task_id: TaskId) -> None:
        """Note that a record of a task is about to be saved or removed. Requires the store lock."""
        self._changed.add(task_id)

    def _histories(
        self, found: dict[TaskId, History], names: Iterable[str], between: Callable[[], object]
    ) -> Histories:
        """Read the recent runs of these tasks; of others ``found`` is right."""
        open_ones = {}
        our_ids, above = _OurIds.until(time.time_ns()), f"{self._paths.runs}/"
        with gc_paused():
            for task_id in map(TaskId, names):
                between()
                found.pop(task_id, None)
                folder = above + task_id
                cached = self._cached.get(folder)
                # Of a large plan nearly all, and a screen looks again and again.
                if cached is not None and cached.is_closed and cached.changed == changed_at(folder):
                    found[task_id] = cached.history
                elif task_id_fault(task_id) is None:
                    history = self._history(folder, task_id, our_ids)
                    if history is not NO_HISTORY:
                        found[task_id] = history
                        if not Change.of(history).is_closed:
                            open_ones[task_id] = history
        return Histories(found, open_ones)

    def _read(self, folder: str, task_id: TaskId, our_ids: "_OurIds | None" = None) -> History:
        """Return the records of a folder.

        With ``our_ids``, those older than the latest that counts may be left to be read later.
        """
        changed, cached = changed_at(folder), self._cached.get(folder)
        if cached is not None and cached.changed == changed and (our_ids or cached.history.is_whole):
            return cached.history
        # Another write would change the time; some file systems keep whole seconds only.
        is_stable = changed > 0 and time.time_ns() - changed > tick_of(changed)
        known = self._fresh.pop(folder, None if is_stable else {})
        entries: list[RecordOrError] = []
        try:
            with opened_folder(folder) as descriptor:
                names = sorted(name for name in os.listdir(descriptor) if name.endswith(ENDING))
                in_order = our_ids is not None and our_ids.have_all(names)
                while names:
                    entry = load_record(descriptor, f"{folder}/{names.pop()}", task_id, known)
                    entries.append(entry)
                    in_order = in_order and _is_named_by_start(entry)
                    if in_order and isinstance(entry, Run) and entry.counts:
                        break
        except (FileNotFoundError, NotADirectoryError):
            return NO_HISTORY
        except OSError as error:
            if is_exhausted(error):
                raise
            return History(faults=(RecordError(folder, reason_of(error)),))
        history = _by_kind(entries[::-1]) if entries else NO_HISTORY
        if names:
            history = replace(history, older=partial(self._older, history.recent[0]))
        if is_stable and not history.faults:
            self._cached[folder] = _Cached(changed, history, Change.of(history).is_closed)
        elif known and not is_stable:
            self._fresh[folder] = known
        return history

    def _older(self, first: Run) -> tuple[Run, ...]:
        """Read the runs of a task before the first that was read."""
        return tuple(run for run in self.history(first.task_id).runs if run.sort_key < first.sort_key)

    def histories_of(self, plan: Plan, task_ids: Iterable[TaskId]) -> dict[TaskId, History]:
        """Return the runs of parents, reviews among them, and of these tasks; read no others."""
        names = {task.id for task in plan.parents()} | (plan.tasks.keys() & set(task_ids))
        return {name: self.history(name) for name in sorted(names)}

    def recent(self, limit: int, now: int) -> History:
        """Read the ``limit`` newest records over all tasks; ``now`` is in nanoseconds since 1970.

        Folders are read in the order of their last change, until one changed before the oldest record found
        so far: it contains nothing newer.
        """
        our_ids, least = _OurIds.until(now), ""
        best: list[_Candidate] = []
        folders = (self._paths.task_runs(task_id) for task_id in (*self.tasks(), PLANNING))
        for changed, folder in sorted(((changed_at(folder), folder) for folder in folders), reverse=True):
            if _stamp(changed // _MILLISECOND) < least:
                break
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


def _by_kind(entries: Sequence[RecordOrError]) -> History:
    runs = [entry for entry in entries if isinstance(entry, Run)]
    runs.sort(key=lambda run: run.sort_key)
    return History(tuple(runs), tuple(entry for entry in entries if isinstance(entry, RecordError)))


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

    @classmethod
    def until(cls, now: int) -> Self:
        return cls(_stamp(_FIRST_DAY), _stamp(now // _MILLISECOND + _DAY))

    def have(self, name: str) -> bool:
        """Whether the name of a record has one of them."""
        return self.first <= name[:_STAMP_DIGITS] <= self.last and len(name) == _OUR_LENGTH

    def have_all(self, names: Sequence[str]) -> bool:
        """Whether all of these sorted names have one."""
        return bool(names) and self.have(names[0]) and self.have(names[-1]) and len(set(map(len, names))) == 1


def _is_named_by_start(entry: RecordOrError) -> bool:
    """Whether a record's name has its time of start, so that the order of names is that of runs."""
    return isinstance(entry, Run) and entry.id[:_STAMP_DIGITS] == _stamp(entry.sort_key[0] // _MILLISECOND)


def is_misnamed(run: Run, now: int) -> bool:
    """Whether a run's id looks like ours but does not have the time at which the run began.

    The names of our own records are in the order of time. ``now`` is in nanoseconds since 1970.
    """
    return _OurIds.until(now).have(f"{run.id}{ENDING}") and not _is_named_by_start(run)


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
        if not our_ids.have(name):
            stamp = _stamp(changed_at(folder / name) // _MILLISECOND)
        yield _Candidate(stamp, name, TaskId(folder.name))
