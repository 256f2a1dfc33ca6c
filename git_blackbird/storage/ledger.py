"""Detect record files that something else wrote while agents were at work.

Three files in the git directory, away from agents: the digests of all records when the last run began, those
that our commands have written since (only while a run is at work), and the files that nobody has confirmed.
"""

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.system import tick_of
from git_blackbird.model.entities.provenance import (
    Content,
    RecordError,
    Unconfirmed,
    UnconfirmedRecord,
    WatchedRun,
    accept_command,
)
from git_blackbird.storage.digests import (
    DigestsByPath,
    DigestStore,
    Known,
    Look,
    changed_at,
    digest_of,
    mark_of,
    save_durably,
)
from git_blackbird.storage.files import load_inside
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.written_log import WrittenLog

_REMOVED = ""
# What a run pays to find what was written beside it, and each second that its agent works.
_LOOKS_OF_A_RUN = 50
_LOOKS_OF_A_SECOND = 1000
P = TypeVar("P")
_Marks = tuple[tuple[int, ...], tuple[int, ...]]


class WatchEnd(NamedTuple):
    """The record files that something else wrote during a run.

    ``unconfirmed`` files are new, ``rewritten`` and ``removed`` ones existed before.
    """

    unconfirmed: tuple[UnconfirmedRecord, ...] = ()
    rewritten: tuple[RecordError, ...] = ()
    removed: tuple[str, ...] = ()


class _State(NamedTuple):
    watched: WatchedRun | None
    unconfirmed: Mapping[str, Unconfirmed]


class Ledger:
    """The provenance of one worktree's record files. Methods that write require the store lock."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        # Together, since threads share this: the state, and the marks of the files that it was read from.
        self._read: tuple[_Marks | None, _State] = None, _State(None, {})
        self._digests = DigestStore(paths)
        self._log = WrittenLog(paths.written_records)
        # So many records may be looked at for the runs since the last look.
        self._looks = 0.0
        # The records of the runs that this process has at work.
        self._at_work: dict[RunId, Path] = {}

    @property
    def has_agents(self) -> bool:
        """Whether a run that this process began, and has not ended, is at work."""
        return bool(self._at_work)

    @property
    def top(self) -> Path:
        """The top of the worktree."""
        return self._paths.state_root

    @property
    def _state(self) -> _State:
        return self._read[1]

    def refresh(self) -> WatchedRun | None:
        """Reload the ledger if it changed; call this before judging files.

        Return what is known since a run began that is at work, or that another may follow; None without one.
        """
        marks = self._log.mark, mark_of(self._paths.unconfirmed_records)
        read = self._read
        if marks != read[0]:
            # The list is written before the log is removed: read in this order, nothing is missed.
            watched = self._load_watched()
            read = self._read = marks, _State(watched, self._load_unconfirmed())
        return read[1].watched

    def is_watching(self) -> bool:
        """Whether a run is at work, so that our commands note the files they write."""
        return self.refresh() is not None

    def names_any(self, folder: str) -> bool:
        """Whether a file in a folder awaits confirmation."""
        unconfirmed = self._state.unconfirmed
        return bool(unconfirmed) and any(
            f"{self._paths.state}/{place}".startswith(f"{folder}/") for place in unconfirmed
        )

    def is_untouched(self, file: str, changed: int) -> bool:
        """Whether a file that last changed then was there before a run at work began; true without one."""
        return self._state.watched is None or _is_untouched(self._state, self._place(Path(file)), changed)

    def judge(self, file: Path | str, data: bytes) -> RecordError | UnconfirmedRecord | None:
        """Return what is wrong with a file if our commands did not write it while a run was at work.

        A file that replaced a record blocks its task; a new one is ignored. None for all others.
        """
        if self._state.watched is None and not self._state.unconfirmed:
            return None
        path = Path(file)
        # Taken before reading, so that a later change does not count as an earlier one.
        place, changed = self._place(path), self._changed(path)
        if _is_untouched(self._state, place, changed):
            return None
        content = Content(digest_of(data), changed)
        unconfirmed = _judge(self._state, place, content)
        if unconfirmed is not None:
            # Our own command may have noted and written it since.
            self.refresh()
            unconfirmed = _judge(self._state, place, content)
        return None if unconfirmed is None else self._named(place, unconfirmed)

    def _changed(self, path: Path) -> int:
        own, watched = changed_at(path), self._state.watched
        is_enough = watched is not None and not watched.is_whole
        return own if is_enough else max(own, changed_at(path.parent))

    def _named(self, place: str, content: Unconfirmed) -> RecordError | UnconfirmedRecord:
        path = str(self._paths.state / place)
        named = UnconfirmedRecord(path, place, content.run_id)
        return named if content.is_new else RecordError(path, named.what, accept_command(place))

    def begin(self, run_id: RunId, record: Path) -> None:
        """Accept all record files as they are now, and note what our commands write from now on.

        Call this once the run's own ``record`` is saved; while another run is watched, so is this. Raises
        SaveError.
        """
        self._at_work[run_id] = record
        self.refresh()
        began = record.lstat().st_ctime_ns
        now = began - tick_of(began)
        if self._state.watched is not None:
            self._log.add_run(run_id, now)
            return
        self._digests.accept_all(now, record)
        self._read = None, self._state
        self._looks = 0.0
        self._log.begin(run_id, now)

    def note(self, path: Path, data: bytes | None) -> None:
        """Note new content of a file, or None for its removal, before the write; only while a run is at work.

        Raises SaveError.
        """
        self._log.add(_REMOVED if data is None else digest_of(data), self._place(path))

    def pause(self, run_id: RunId, seconds: float) -> WatchEnd | None:
        """Do as ``end`` for a run that another may follow at once, unless that costs too much for its time.

        Then all that something else writes counts for nothing until ``end`` finds it.
        """
        watched = self.refresh()
        self._looks += _LOOKS_OF_A_RUN + _LOOKS_OF_A_SECOND * seconds
        if watched is None or len(watched.before) <= self._looks:
            return self.end(run_id)
        self._at_work.pop(run_id, None)
        return WatchEnd()

    def end(self, run_id: RunId | None) -> WatchEnd | None:
        """Compare all record files with the noted ones, save the differences, and stop noting.

        Where other runs than ``run_id`` are at work, begin anew for them; with None no run is. Return None if
        nothing was noted. Raises SaveError.
        """
        others = {name: record for name, record in self._at_work.items() if name != run_id and run_id}
        self._at_work = {}
        ended = self._end()
        for name, record in others.items():
            # An agent may have removed the record of another one's run.
            with contextlib.suppress(FileNotFoundError):
                self.begin(name, record)
        return ended

    def _end(self) -> WatchEnd | None:
        self.refresh()
        watched, before = self._state
        if watched is None:
            return None
        known = self._digests.load()
        look = self._digests.look(known)
        unconfirmed = dict(self._all_unconfirmed(known, look))
        if unconfirmed != before:
            self._save_unconfirmed(unconfirmed)
        removed = self._removed(known, watched, look)
        self._digests.complete(look)
        self._log.remove()
        self._read = None, self._state
        new = [
            self._named(place, content)
            for place, content in unconfirmed.items()
            if before.get(place) != content
        ]
        for record in new:
            _touch(Path(record.path).parent)
        return WatchEnd(
            tuple(record for record in new if isinstance(record, UnconfirmedRecord)),
            tuple(record for record in new if isinstance(record, RecordError)),
            tuple(str(self._paths.state / place) for place in removed),
        )

    def _all_unconfirmed(self, known: Known, look: Look) -> Iterator[tuple[str, Unconfirmed]]:
        """Return every unconfirmed file; unchanged ones are not read."""
        files = dict(self._digests.touched(known, look))
        files |= {
            place: changed_at(self._paths.state / place)
            for place in self._state.unconfirmed
            if place not in files and os.path.lexists(self._paths.state / place)
        }
        for place, changed in files.items():
            if _is_untouched(self._state, place, changed):
                continue
            judged = _judge(self._state, place, Content(self._digests.digest(place), changed))
            if judged is not None:
                yield place, judged

    def _removed(self, known: Known, watched: WatchedRun, look: Look) -> list[str]:
        """Return the run records that our commands wrote or found, and that are missing."""
        names = {one.folder: one.names for one in look.others}
        gone = [
            f"{folder}/{name}"
            for folder in known.folders.keys() - set(look.same)
            for name in known.folders[folder]
            if name not in names.get(folder, ())
        ]
        gone += [place for place in watched.written if not os.path.lexists(self._paths.state / place)]
        return sorted({place for place in gone if place.startswith(f"{self._paths.runs.name}/")})

    def confirm(self, path: Path) -> None:
        """Accept a file as it is now. Raises SaveError, OSError if it cannot be read."""
        data = load_inside(self.top, path)
        self.note(path, data)
        self.refresh()
        left = {
            place: content for place, content in self._state.unconfirmed.items() if place != self._place(path)
        }
        if left != self._state.unconfirmed:
            self._save_unconfirmed(left)
        _touch(path.parent)

    def _place(self, path: Path) -> str:
        return path.relative_to(self._paths.state).as_posix()

    def _load_watched(self) -> WatchedRun | None:
        """Read the noted files. If the log is missing or broken, behave as if no run were at work."""
        written = self._log.load()
        if written is None:
            return None
        known = self._digests.load()
        if known.at != written.since:
            return None
        return WatchedRun(written.runs, DigestsByPath(known.folders), written.places, known.is_whole)

    def _load_unconfirmed(self) -> dict[str, Unconfirmed]:
        path = self._paths.unconfirmed_records
        if not path.exists():
            return {}
        from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415  # there hardly ever are any

        adapter = TypeAdapter(dict[str, Unconfirmed], config=ConfigDict(strict=True))
        return _load(adapter.validate_python, path) or {}

    def _save_unconfirmed(self, unconfirmed: Mapping[str, Unconfirmed]) -> None:
        listed = {place: content._asdict() for place, content in unconfirmed.items()}
        self._save(self._paths.unconfirmed_records, listed)

    def _save(self, path: Path, value: Mapping[str, Any]) -> None:
        save_durably(path, json.dumps(value).encode())
        self._read = None, self._state


def _is_untouched(state: _State, place: str, changed: int) -> bool:
    """Whether a file needs no confirmation because it is as it was when the run began."""
    if place in state.unconfirmed:
        return False
    return state.watched is None or state.watched.is_untouched(place, changed)


def _judge(state: _State, place: str, content: Content) -> Unconfirmed | None:
    listed, watched = state.unconfirmed.get(place), state.watched
    is_same = listed is not None and listed.digest == content.digest
    if watched is None or (is_same and content.digest not in watched.written.get(place, ())):
        return listed if is_same else None
    judged = watched.judge(place, content)
    # A file that took the place of an ignored one did not replace a record.
    is_new = judged is not None and listed is not None and listed.is_new
    return judged._replace(is_new=True) if judged is not None and is_new else judged


def _load(read: Callable[[Any], P], path: Path) -> P | None:
    """Read one of our files; its names may not be UTF-8, which pydantic's own JSON reader rejects."""
    try:
        return read(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None


def _touch(folder: Path) -> None:
    """Make everyone who has read the folder read it again."""
    with contextlib.suppress(OSError):  # it is gone, and will be noticed
        os.utime(folder)
