"""The digests of all record files at a time, kept in the git directory and brought up to date by folders."""

import contextlib
import json
import os
import stat
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from git_blackbird.storage.files import SaveError, load_inside, replace_durably
from git_blackbird.storage.paths import Paths

_REVIEWS = "reviews"
_ENDING = ".json"
# The records of more tasks than these are read for the first time only when the agent has ended.
_MANY_TASKS = 500


_Digests = Mapping[str, str]


class Known(NamedTuple):
    """The digests of record files at a time, by folder, then by name; only some if it is not whole."""

    at: int
    is_whole: bool
    folders: Mapping[str, _Digests]


class DigestsByPath(Mapping[str, str]):
    """The same digests, by path."""

    def __init__(self, folders: Mapping[str, _Digests]) -> None:
        self._folders = folders

    def __getitem__(self, place: str) -> str:
        folder, _, name = place.rpartition("/")
        return self._folders[folder][name]

    def __iter__(self) -> Iterator[str]:
        return (f"{folder}/{name}" for folder, names in self._folders.items() for name in names)

    def __len__(self) -> int:
        return sum(map(len, self._folders.values()))


class ListedFolder(NamedTuple):
    """A folder of records, when it changed, and the names of the records in it."""

    folder: str
    changed: int
    names: Collection[str]


_UNKNOWN = Known(0, False, {})


class Look(NamedTuple):
    """The folders of records that are the same as they are known, and the others."""

    same: list[str]
    others: list[ListedFolder]


class DigestStore:
    """The digests of one worktree's record files. Methods that write require the store lock."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._known: tuple[tuple[int, ...], Known] | None = None
        self._lines = 0

    def look(self, known: Known) -> Look:
        """Look at every folder of records; one that did not change since the known ones is not listed."""
        same: list[str] = []
        others: list[ListedFolder] = []
        for folder, changed in [*_folders_in(self._paths.runs), (self._paths.feedback.name, None)]:
            if folder in known.folders and changed is not None and changed < known.at:
                same.append(folder)
                below = f"{folder}/{_REVIEWS}"
                others += self._listed(below) if below in known.folders else ()
            else:
                others += self._listed(folder)
        return Look(same, others)

    def _listed(self, folder: str) -> Iterator[ListedFolder]:
        """List a folder and the folder of reviews in it."""
        path = f"{self._paths.state}/{folder}"
        changed, names = changed_at(path), _names_in(path)
        yield ListedFolder(folder, changed, [name for name in names if name.endswith(_ENDING)])
        if _REVIEWS in names:
            yield from self._listed(f"{folder}/{_REVIEWS}")

    def accept_all(self, now: int, record: Path) -> None:
        """Bring the digests up to date, as of ``now``, after ``record`` was written.

        Very many are left to ``complete``, but for those beside the record. Raises SaveError.
        """
        known = self.load()
        if known.is_whole or len(_names_in(str(self._paths.runs))) <= _MANY_TASKS:
            self.save(known, Known(now, True, self._digests_at(known, self.look(known))))
        else:
            beside = self._listed(record.parent.relative_to(self._paths.state).as_posix())
            self.save(known, Known(now, False, self._digests_at(known, Look([], [*beside]))))

    def complete(self, look: Look) -> None:
        """Add the digests that were left out; what changed since then is read again by the next run."""
        known = self.load()
        if not known.is_whole:
            folders = self._digests_at(known, look)
            self.save(known, known._replace(is_whole=True, folders=folders))

    def _digests_at(self, known: Known, look: Look) -> dict[str, _Digests]:
        others = {one.folder: self._digests_in(known, one) for one in look.others}
        return {folder: known.folders[folder] for folder in look.same} | others

    def touched(self, known: Known, look: Look) -> Iterator[tuple[str, int]]:
        """Yield the path of each file that changed since the known ones, or is not among them, and when."""
        state, folders, lstat = f"{self._paths.state}/", known.folders, os.lstat
        for folder in look.same:
            for name in folders[folder]:
                place = f"{folder}/{name}"
                try:
                    found = lstat(state + place)
                except OSError:
                    continue
                if found.st_ctime_ns >= known.at or stat.S_ISLNK(found.st_mode):
                    yield place, changed_at(state + place)
        for one in look.others:
            yield from ((f"{one.folder}/{name}", self._changed(known, one, name)) for name in one.names)

    def load(self) -> Known:
        """Return the digests, read again if another process has changed them."""
        mark = mark_of(self._paths.known_records)
        if self._known is None or self._known[0] != mark:
            self._known = mark, self._parse_known()
        return self._known[1]

    def _parse_known(self) -> Known:
        """Read a line for each folder, the last of it counts, and one for each time all were up to date."""
        known = _UNKNOWN
        folders: dict[str, _Digests] = {}
        try:
            lines = self._paths.known_records.read_text(errors="replace").split("\n")
        except OSError:
            return known
        for line in lines:
            with contextlib.suppress(ValueError, TypeError):  # a crash may have cut one off
                first, second = json.loads(line)
                if isinstance(first, int):
                    known = Known(first, bool(second), folders)
                elif second is None:
                    folders.pop(first, None)
                else:
                    folders[str(first)] = dict(second)
        self._lines = len(lines)
        return known

    def save(self, before: Known, after: Known) -> None:
        """Append what differs, or write everything where most of the lines would be outdated."""
        changed: list[tuple[str, _Digests | None]] = [
            (folder, names)
            for folder, names in after.folders.items()
            if names is not (former := before.folders.get(folder)) and names != former
        ]
        changed += [(folder, None) for folder in before.folders.keys() - after.folders.keys()]
        path, is_appended = self._paths.known_records, self._lines < 2 * len(after.folders) + _MANY_TASKS
        lines = [*(changed if is_appended else after.folders.items()), (after.at, after.is_whole)]
        data = "".join(f"{json.dumps(line)}\n" for line in lines)
        if is_appended and before is not _UNKNOWN:
            append_durably(path, f"\n{data}".encode())
        else:
            save_durably(path, data.encode())
            self._lines = 0
        self._lines += len(lines)
        self._known = mark_of(path), after

    def _digests_in(self, known: Known, listed: ListedFolder) -> _Digests:
        """Return the digests of a folder's records; only what changed since the known ones is read."""
        former = known.folders.get(listed.folder, {})
        return {
            name: former[name]
            if name in former and self._changed(known, listed, name) < known.at
            else self.digest(f"{listed.folder}/{name}")
            for name in listed.names
        }

    def _changed(self, known: Known, listed: ListedFolder, name: str) -> int:
        """Return when a record changed, or its folder; of a record without a digest its own time says it."""
        own = changed_at(f"{self._paths.state}/{listed.folder}/{name}")
        return max(listed.changed, own) if known.is_whole else own

    def digest(self, place: str) -> str:
        """Return the digest of a file; an unreadable one counts as empty."""
        try:
            return digest_of(load_inside(self._paths.state_root, self._paths.state / place))
        except OSError:
            return digest_of(b"")


def save_durably(path: Path, data: bytes) -> None:
    """Save one of our files in the git directory. Raises SaveError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(path, data)
    except OSError as error:
        raise SaveError(path, error) from error


def append_durably(path: Path, data: bytes) -> None:
    """Add lines to one of our files. Raises SaveError."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise SaveError(path, error) from error
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    except OSError as error:
        raise SaveError(path, error) from error
    finally:
        os.close(descriptor)


def _folders_in(runs: Path) -> list[tuple[str, int | None]]:
    """Return the folders of tasks, and when each changed; None for a link, or where that is unknown."""
    above = runs.name
    try:
        with os.scandir(runs) as entries:
            return [
                (
                    f"{above}/{entry.name}",
                    None if entry.is_symlink() else entry.stat(follow_symlinks=False).st_ctime_ns,
                )
                for entry in entries
            ]
    except OSError:
        return [(f"{above}/{name}", None) for name in _names_in(str(runs))]


def _names_in(folder: str) -> list[str]:
    """List a folder; an unreadable one is reported when its records are read."""
    try:
        return os.listdir(folder)
    except OSError:
        return []


def changed_at(path: str | Path) -> int:
    """Return when a file, or the link to it, changed."""
    try:
        own = os.lstat(path)
        return max(own.st_ctime_ns, Path(path).stat().st_ctime_ns if stat.S_ISLNK(own.st_mode) else 0)
    except OSError:
        return time.time_ns()


def digest_of(data: bytes) -> str:
    """Return the digest of a file's content."""
    from hashlib import sha256  # noqa: PLC0415  # only while an agent is at work

    return sha256(data).hexdigest()


def mark_of(path: Path) -> tuple[int, ...]:
    """Return what differs once a file was replaced or grew; empty if it is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116  # of a file looked at for every record
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino
