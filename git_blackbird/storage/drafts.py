"""Texts that a person is writing: kept in the git directory until they have become what they are for.

Two kinds: forms of tasks, which an editor has open, each beside the form it was made from; and texts for an
agent, saved while they are typed.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.model.ids import TaskId
from git_blackbird.storage.atomic import SaveError, copy_private, replace_durably
from git_blackbird.storage.layout import Layout
from git_blackbird.storage.reading import load_bytes

MAX_BYTES = 1024 * 1024
_ENCODING = ("utf-8", "surrogateescape")
_PRIVATE = 0o600
_SUFFIX = ".md"


def drafts_of(layout: Layout, task_id: TaskId) -> list[Path]:
    """Name the drafts of a task's form, the first one first."""
    return _existing(_places(layout.drafts, task_id))


def _existing(places: Iterator[Path]) -> list[Path]:
    found = []
    for path in places:
        if not os.path.lexists(path):
            break
        found.append(path)
    return found


def _places(folder: Path, name: str) -> Iterator[Path]:
    yield folder / f"{name}{_SUFFIX}"
    number = 2
    while True:
        yield folder / f"{name}.{number}{_SUFFIX}"
        number += 1


def create_draft(layout: Layout, task_id: TaskId, text: str) -> Path:
    """Save a form as a new draft beside those that are there, and as what it was made from; gives its place.

    Raises SaveError.
    """
    path = _create(layout, _places(layout.drafts, task_id), text.encode(*_ENCODING))
    save_base(layout, path, text)
    return path


def _create(layout: Layout, places: Iterator[Path], data: bytes) -> Path:
    """Save a new file at the first place that is free. Raises SaveError."""
    for path in places:
        _make_private(layout, path.parent)
        try:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as file:  # noqa: PTH123
                file.write(data)
        except FileExistsError:
            continue
        except OSError as error:
            raise SaveError(path, error) from error
        return path
    raise AssertionError("places never end")


def _make_private(layout: Layout, folder: Path) -> None:
    """Make a folder of drafts, and those above it, for nobody else to look into. Raises SaveError."""
    try:
        layout.private.mkdir(parents=True, exist_ok=True)
        for step in reversed([folder, *folder.parents]):
            if step.is_relative_to(layout.drafts):
                step.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise SaveError(folder, error) from error


def save_draft(path: Path, text: str) -> None:
    """Save a draft again. Raises SaveError; what was there then stays."""
    try:
        replace_durably(path, text.encode(*_ENCODING), mode=_PRIVATE)
    except OSError as error:
        raise SaveError(path, error) from error


def load_draft(path: Path) -> str | None:
    """Give a draft as it is; None when it is gone. Bytes that are not UTF-8 are half surrogates.

    Raises OSError when it cannot be read.
    """
    try:
        return load_bytes(path).decode(*_ENCODING)
    except FileNotFoundError:
        return None


def _base(path: Path) -> Path:
    return path.parent / "bases" / path.name


def save_base(layout: Layout, path: Path, form: str) -> None:
    """Save the form that a draft was made from: it tells what the person changed. Raises SaveError."""
    _make_private(layout, _base(path).parent)
    copy_private(_base(path), form.encode(*_ENCODING))


def load_base(path: Path) -> str | None:
    """Give the form that a draft was made from; None where there is none that can be read."""
    try:
        return load_draft(_base(path))
    except OSError:
        return None


def drop_draft(path: Path) -> None:
    """Remove a draft, and what it was made from."""
    for file in (path, _base(path)):
        file.unlink(missing_ok=True)


@contextlib.contextmanager
def hold_draft(layout: Layout, path: Path) -> Iterator[bool]:
    """Hold a draft while it is edited; gives whether nobody else does. A process that dies lets go of it.

    Raises SaveError.
    """
    lock = path.parent / "locks" / path.name
    _make_private(layout, lock.parent)
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


class TextDraft:
    """The file of one text for an agent. Whoever writes another at the same time has a file of their own."""

    def __init__(self, layout: Layout, task_id: TaskId, name: str) -> None:
        self._layout = layout
        self._folder = layout.task_drafts(task_id)
        self._name = name
        self._path: Path | None = None
        self._known: bytes | None = None

    @property
    def path(self) -> Path:
        """Where the text is, or will be."""
        return self._path or next(_places(self._folder, self._name))

    def load(self) -> str:
        """Give the first text that is kept; empty when there is none that can be read."""
        for path in _existing(_places(self._folder, self._name)):
            data = _load_bounded(path)
            if data is not None:
                self._path, self._known = path, data
                return data.decode(*_ENCODING)
        self._path, self._known = None, None
        return ""

    def prepare(self) -> Path:
        """Give a file for an editor, which has the text that was saved. Raises SaveError."""
        if self._path is None:
            self._path, self._known = _create(self._layout, _places(self._folder, self._name), b""), b""
        return self._path

    def save(self, text: str) -> None:
        """Save the text, or remove the file of a blank one; beyond a megabyte it is cut off.

        Raises SaveError; what was there then stays.
        """
        data = text.encode(*_ENCODING)[:MAX_BYTES] if text.strip() else None
        if data == self._known:
            return
        is_mine = self._path is not None and _load_bounded(self._path) == self._known
        if data is None:
            if is_mine:
                self._remove()
        elif is_mine:
            copy_private(self.path, data)
        else:
            self._path = _create(self._layout, _places(self._folder, self._name), data)
        self._known = data

    def _remove(self) -> None:
        remove_text(self.path)
        self._path = None


def text_drafts(layout: Layout) -> list[tuple[TaskId, Path]]:
    """Name all texts that are kept, with the tasks they are about."""
    return [(TaskId(path.parent.name), path) for path in sorted(layout.text_drafts.glob(f"*/*{_SUFFIX}"))]


def remove_text(path: Path) -> None:
    """Remove a text that is kept, and its folder when it was the last one there. Raises SaveError."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise SaveError(path, error) from error
    with contextlib.suppress(OSError):  # another text is kept there
        path.parent.rmdir()


def load_text(path: Path) -> str | None:
    """Give a text that is kept; None where it cannot be read."""
    data = _load_bounded(path)
    return None if data is None else data.decode(*_ENCODING)


def _load_bounded(path: Path) -> bytes | None:
    try:
        if path.is_symlink() or path.stat().st_size > MAX_BYTES:
            return None
        return load_bytes(path)
    except OSError:
        return None
