"""Unfinished texts of a person, kept in the git directory until they have been used.

There are two kinds: pages of tasks open in an editor, each beside the page it was made from; and texts for an
agent, saved while they are typed.
"""

import contextlib
import fcntl
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.storage.files import SaveError, changed_at, load_bytes, replace_durably, write_private
from git_blackbird.storage.paths import Paths

MAX_BYTES = 1024 * 1024
_ENCODING = ("utf-8", "surrogateescape")
# Some editors begin a file with a byte order mark.
_EDITED = ("utf-8-sig", "surrogateescape")
_PRIVATE = 0o600
_TEXT = ".md"


def drafts_of(paths: Paths, name: str) -> list[Path]:
    """List the drafts of a page, the last one saved first; its name is a task's id, or begins with a dot."""
    # Where an earlier one is gone, a later one is still there.
    numbers = sorted((int(each) for each in _names_in(paths.drafts) if each.isdecimal()), reverse=True)
    places = [*(paths.drafts / str(number) for number in numbers), paths.drafts]
    drafts = [path for folder in places if os.path.lexists(path := folder / f"{name}{_TEXT}")]
    return sorted(drafts, key=changed_at, reverse=True)


def _page_places(paths: Paths, name: str) -> Iterator[Path]:
    """Yield the file of each draft; a number in the name could be the end of another task's id."""
    yield paths.drafts / f"{name}{_TEXT}"
    yield from (paths.drafts / str(number) / f"{name}{_TEXT}" for number in itertools.count(2))


def _places(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}{_TEXT}"
    yield from (folder / f"{name}.{number}{_TEXT}" for number in itertools.count(2))


def create_draft(paths: Paths, name: str, text: str) -> Path:
    """Save a page as a new draft, and as the base of that draft; return its path.

    Raises SaveError.
    """
    path = _create(paths, _page_places(paths, name), text.encode(*_ENCODING))
    save_base(paths, path, text)
    return path


def _create(paths: Paths, places: Iterator[Path], data: bytes) -> Path:
    """Save a new file under the first free name. Raises SaveError."""
    for path in places:
        _make_private(paths, path.parent)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as file:  # noqa: PTH123
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise SaveError(path, error) from error
        return path
    raise AssertionError("places never end")


def _make_private(paths: Paths, folder: Path) -> None:
    """Create a folder of drafts and its parents, readable by the owner only. Raises SaveError."""
    try:
        paths.make_private(folder, mode=0o700)
    except (OSError, UnusableError) as error:
        raise SaveError(folder, error) from error


def save_draft(path: Path, text: str) -> None:
    """Save a draft again. Raises SaveError; the old content then stays."""
    try:
        replace_durably(path, text.encode(*_ENCODING), mode=_PRIVATE)
    except OSError as error:
        raise SaveError(path, error) from error


def load_draft(path: Path) -> str | None:
    """Return a draft, or None if it is gone. Bytes that are not UTF-8 become surrogates.

    Raises OSError if it cannot be read.
    """
    try:
        return load_bytes(path).decode(*_EDITED)
    except FileNotFoundError:
        return None


def _base(path: Path) -> Path:
    return path.parent / "bases" / path.name


def save_base(paths: Paths, path: Path, form: str) -> None:
    """Save the page that a draft was made from, to compare it with later. Raises SaveError."""
    _make_private(paths, _base(path).parent)
    write_private(_base(path), form.encode(*_ENCODING))


def load_base(path: Path) -> str | None:
    """Return the page that a draft was made from; None if it cannot be read."""
    try:
        return load_draft(_base(path))
    except OSError:
        return None


def drop_draft(path: Path) -> None:
    for file in (path, _base(path)):
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def hold_draft(paths: Paths, path: Path) -> Iterator[bool]:
    """Lock a draft while it is edited; yield whether that succeeded.

    Raises SaveError.
    """
    lock = path.parent / "locks" / path.name
    _make_private(paths, lock.parent)
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, _PRIVATE)
    except OSError as error:
        raise SaveError(lock, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
            if not os.path.lexists(path):
                lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


class DraftFile:
    """The file of one text for an agent. Each concurrent writer has a separate file."""

    def __init__(self, paths: Paths, task_id: TaskId, name: str) -> None:
        self._paths = paths
        self._folder = paths.task_drafts(task_id)
        self._name = name
        self._path: Path | None = None
        self._known: bytes | None = None

    @property
    def path(self) -> Path:
        """The path of the text, which may not exist yet."""
        return self._path or next(_places(self._folder, self._name))

    def load(self) -> str:
        """Return the first saved text; empty if none can be read."""
        for path in self._saved():
            data = _load_bounded(path)
            if data is not None:
                self._path, self._known = path, data
                return data.decode(*_ENCODING)
        self._path, self._known = None, None
        return ""

    def _saved(self) -> list[Path]:
        """List the files of the text; where an earlier one is gone, a later one is still there."""
        pattern = re.compile(rf"{re.escape(self._name)}(\.\d+)?{re.escape(_TEXT)}")
        names = [name for name in _names_in(self._folder) if pattern.fullmatch(name)]
        return [self._folder / name for name in sorted(names, key=lambda name: (len(name), name))]

    def prepare(self) -> Path:
        """Return a file with the saved text for an editor. Raises SaveError."""
        if self._path is None:
            self._path, self._known = _create(self._paths, _places(self._folder, self._name), b""), b""
        return self._path

    def save(self, text: str) -> None:
        """Save the text, cut at one megabyte, or remove the file if the text is blank.

        Raises SaveError; the old content then stays.
        """
        data = text.encode(*_ENCODING)[:MAX_BYTES] if text.strip() else None
        if data == self._known:
            return
        is_mine = self._path is not None and _load_bounded(self._path) == self._known
        if data is None:
            if is_mine:
                remove_text(self.path)
                self._path = None
        elif is_mine:
            write_private(self.path, data)
        else:
            self._path = _create(self._paths, _places(self._folder, self._name), data)
        self._known = data


def text_drafts(paths: Paths) -> list[tuple[TaskId, Path]]:
    folders = [paths.text_drafts / name for name in _names_in(paths.text_drafts)]
    return [
        (TaskId(folder.name), folder / name)
        for folder in folders
        for name in _names_in(folder)
        if name.endswith(_TEXT)
    ]


def _names_in(folder: Path) -> list[str]:
    """Return what is in a folder, which another process may remove at any moment."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def remove_text(path: Path) -> None:
    """Remove a saved text, and its folder if that is empty then. Raises SaveError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SaveError(path, error) from error
    with contextlib.suppress(OSError):  # the folder has other texts
        path.parent.rmdir()


def load_text(path: Path) -> str | None:
    """Return a saved text; None if it cannot be read."""
    data = _load_bounded(path)
    return None if data is None else data.decode(*_ENCODING)


def _load_bounded(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        return load_bytes(path)
    except OSError:
        return None
