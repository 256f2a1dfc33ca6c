"""What is known of record files while agents work: kept in the git directory, out of their way.

Three files: the digests of all records as they were when the last run began, those that our commands wrote
since (only there while a run is at work), and the files that nobody has confirmed.
"""

import contextlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import RunId
from git_blackbird.model.provenance import (
    Content,
    Unconfirmed,
    UnconfirmedRecord,
    WatchedRun,
    accept_command,
)
from git_blackbird.storage.atomic import SaveError, replace_durably
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.reading import load_inside

# Clocks of file systems have ticks, of up to two seconds: what changed just before is looked at again.
_TICK_NANOSECONDS = 2_100_000_000
_REMOVED = ""
_Marks = tuple[tuple[int, ...], tuple[int, ...]]


class WatchEnd(NamedTuple):
    """What was found when a run's record files were compared with what is known of them.

    ``unconfirmed`` are new, ``rewritten`` and ``removed`` were there before.
    """

    unconfirmed: tuple[UnconfirmedRecord, ...] = ()
    rewritten: tuple[RecordFault, ...] = ()
    removed: tuple[str, ...] = ()


class _State(NamedTuple):
    watched: WatchedRun | None
    unconfirmed: Mapping[str, Unconfirmed]


class _Known(NamedTuple):
    at: int
    digests: Mapping[str, str]


class Ledger:
    """The provenance of one worktree's record files. All that writes needs the store lock."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._state = _State(None, {})
        self._marks: _Marks | None = None
        self._known: tuple[tuple[int, ...], _Known] | None = None

    @property
    def top(self) -> Path:
        """The top of the worktree."""
        return self._layout.state_root

    def refresh(self) -> None:
        """Read what is known where that changed; to be called before files are judged."""
        marks = _mark(self._layout.written_records), _mark(self._layout.unconfirmed_records)
        if marks != self._marks:
            # The list is written before the log goes away: read in this order, nothing falls between.
            watched = self._load_watched()
            self._state = _State(watched, self._load_unconfirmed())
            self._marks = marks

    def is_watching(self) -> bool:
        """Whether what our commands write is noted, since a run is at work."""
        self.refresh()
        return self._state.watched is not None

    def judge(self, path: Path, data: bytes) -> RecordFault | UnconfirmedRecord | None:
        """Give what is wrong with a file that something else than our commands wrote while a run was at work.

        A file that replaced a record stops its task; a new one counts for nothing. None for all others.
        """
        if self._state.watched is None and not self._state.unconfirmed:
            return None
        # Whatever changes after it was read is not taken for older than it is.
        place, changed = self._place(path), max(_changed(path), _changed(path.parent))
        if _is_untouched(self._state, place, changed):
            return None
        content = Content(_hash(data), changed)
        found = _judge(self._state, place, content)
        if found is not None:
            # Our own command may have noted and written it since.
            self.refresh()
            found = _judge(self._state, place, content)
        return None if found is None else self._named(place, found)

    def _named(self, place: str, found: Unconfirmed) -> RecordFault | UnconfirmedRecord:
        path = str(self._layout.state / place)
        named = UnconfirmedRecord(path, place, found.run_id)
        return named if found.is_new else RecordFault(path, named.what, accept_command(place))

    def begin(self, run_id: RunId, record: Path) -> None:
        """Take all record files as they are now for known, and note what our commands write from now on.

        To be called once the run's own ``record`` is saved; nothing happens while another run is at work.
        Raises SaveError.
        """
        self.refresh()
        if self._state.watched is not None:
            return
        now = record.lstat().st_ctime_ns - _TICK_NANOSECONDS
        known = self._load_known()
        digests = {
            place: known.digests[place]
            if place in known.digests and changed < known.at
            else self._digest(place)
            for place, changed in self._files()
        }
        self._save(self._layout.known_records, {"at": now, "digests": digests})
        header = json.dumps({"run": run_id, "since": now}) + "\n"
        _replace(self._layout.written_records, header.encode())

    def note(self, path: Path, data: bytes | None) -> None:
        """Note what is about to be written to a file, None where it is removed, while a run is at work.

        Raises SaveError.
        """
        log = self._layout.written_records
        try:
            descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        except OSError as error:
            raise SaveError(log, error) from error
        digest = _REMOVED if data is None else _hash(data)
        try:
            # What a crash cut off ends here: it was noted and never written.
            os.write(descriptor, f"\n{json.dumps([digest, self._place(path)])}\n".encode())
            os.fsync(descriptor)
        except OSError as error:
            raise SaveError(log, error) from error
        finally:
            os.close(descriptor)

    def end(self) -> WatchEnd | None:
        """Compare all record files with what is known, keep what is not, and stop noting.

        None where nothing was noted. Raises SaveError.
        """
        self.refresh()
        watched, before = self._state
        if watched is None:
            return None
        files = dict(self._files())
        unconfirmed = dict(self._found(files))
        if unconfirmed != before:
            listed = {place: found._asdict() for place, found in unconfirmed.items()}
            self._save(self._layout.unconfirmed_records, listed)
        self._layout.written_records.unlink(missing_ok=True)
        self._marks = None
        new = [self._named(place, one) for place, one in unconfirmed.items() if before.get(place) != one]
        for one in new:
            _touch(Path(one.path).parent)
        return WatchEnd(
            tuple(one for one in new if isinstance(one, UnconfirmedRecord)),
            tuple(one for one in new if isinstance(one, RecordFault)),
            tuple(str(self._layout.state / place) for place in watched.removed(frozenset(files))),
        )

    def _found(self, files: Mapping[str, int]) -> Iterator[tuple[str, Unconfirmed]]:
        """Give every file that nobody has confirmed; those that did not change are not read."""
        for place, changed in files.items():
            if _is_untouched(self._state, place, changed):
                continue
            found = _judge(self._state, place, Content(self._digest(place), changed))
            if found is not None:
                yield place, found

    def confirm(self, path: Path) -> None:
        """Let a file count as it is now.

        Raises SaveError, OSError where it cannot be read.
        """
        data = load_inside(self.top, path)
        self.note(path, data)
        self.refresh()
        left = {place: one for place, one in self._state.unconfirmed.items() if place != self._place(path)}
        if left != self._state.unconfirmed:
            self._save(
                self._layout.unconfirmed_records, {place: one._asdict() for place, one in left.items()}
            )
        _touch(path.parent)

    def _digest(self, place: str) -> str:
        """Give the digest of a file; one that cannot be read is as if it were empty."""
        try:
            return _hash(load_inside(self.top, self._layout.state / place))
        except OSError:
            return _hash(b"")

    def _place(self, path: Path) -> str:
        return path.relative_to(self._layout.state).as_posix()

    def _files(self) -> Iterator[tuple[str, int]]:
        """Give the place of every record file, and when it changed."""
        runs, feedback = self._layout.runs, self._layout.feedback
        for task in _entries(str(runs)):
            yield from _records_in(task.path, f"{runs.name}/{task.name}")
        yield from _records_in(str(feedback), feedback.name)

    def _load_known(self) -> _Known:
        mark = _mark(self._layout.known_records)
        if self._known is None or self._known[0] != mark:
            raw = _load_object(self._layout.known_records)
            try:
                self._known = mark, _Known(int(raw["at"]), dict(raw["digests"]))
            except (KeyError, TypeError, ValueError):
                self._known = mark, _Known(0, {})
        return self._known[1]

    def _load_watched(self) -> WatchedRun | None:
        """Read what was noted. What is missing or broken is as if no run were at work: it stops nothing."""
        try:
            header, *lines = self._layout.written_records.read_text(errors="replace").split("\n")
            head = json.loads(header)
            run_id, since = RunId(str(head["run"])), int(head["since"])
        except (OSError, KeyError, TypeError, ValueError):
            return None
        known = self._load_known()
        if known.at != since:
            return None
        written: dict[str, tuple[str, ...]] = {}
        for digest, place in filter(None, map(_noted, lines)):
            written[place] = (*written.get(place, ()), digest)
        return WatchedRun(run_id, since, known.digests, written)

    def _load_unconfirmed(self) -> dict[str, Unconfirmed]:
        raw = _load_object(self._layout.unconfirmed_records)
        try:
            return {
                place: Unconfirmed(one["digest"], RunId(one["run_id"]), bool(one["is_new"]))
                for place, one in raw.items()
            }
        except (KeyError, TypeError):
            return {}

    def _save(self, path: Path, value: Mapping[str, Any]) -> None:
        _replace(path, json.dumps(value).encode())
        self._marks = None


def _is_untouched(state: _State, place: str, changed: int) -> bool:
    """Whether a file is as it was when the run began, and nobody has to confirm it."""
    if place in state.unconfirmed:
        return False
    return state.watched is None or state.watched.is_untouched(place, changed)


def _judge(state: _State, place: str, content: Content) -> Unconfirmed | None:
    listed, watched = state.unconfirmed.get(place), state.watched
    is_same = listed is not None and listed.digest == content.digest
    if watched is None or (is_same and content.digest not in watched.written.get(place, ())):
        return listed if is_same else None
    found = watched.judge(place, content)
    # What took the place of one that never counted did not replace a record.
    is_new = found is not None and listed is not None and listed.is_new
    return found._replace(is_new=True) if found is not None and is_new else found


def _noted(line: str) -> tuple[str, str] | None:
    try:
        digest, place = json.loads(line)
    except ValueError:
        return None
    return str(digest), str(place)


def _load_object(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return raw if isinstance(raw, dict) else {}


def _replace(path: Path, data: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, data)
    except OSError as error:
        raise SaveError(path, error) from error


def _records_in(folder: str, place: str) -> Iterator[tuple[str, int]]:
    """Give the place of every record file in a folder of records, and when it changed, or its folder did."""
    moved = _changed(Path(folder))
    for entry in _entries(folder):
        if entry.name.endswith(".json"):
            yield f"{place}/{entry.name}", max(moved, _changed(entry))
        elif entry.name == "reviews":
            yield from _records_in(entry.path, f"{place}/{entry.name}")


def _entries(folder: str) -> "list[os.DirEntry[str]]":
    """List a folder; one that cannot be read is named by whoever reads the records."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _changed(file: "Path | os.DirEntry[str]") -> int:
    """Say when a file changed, or the link to it."""
    try:
        own = file.stat(follow_symlinks=False)
        return max(own.st_ctime_ns, file.stat().st_ctime_ns if stat.S_ISLNK(own.st_mode) else 0)
    except OSError:
        return time.time_ns()


def _touch(folder: Path) -> None:
    """Let whoever has read the folder before read it again."""
    with contextlib.suppress(OSError):  # it is gone, and will be seen to be
        os.utime(folder)


def _hash(data: bytes) -> str:
    from hashlib import sha256  # noqa: PLC0415  # only where an agent is at work

    return sha256(data).hexdigest()


def _mark(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
