"""Read files that a clone or an agent may have put in place."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

_PIECE_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class OutsideError(OSError):
    """A link in the path leads out of the worktree, to ``where``."""

    def __init__(self, path: Path, where: str) -> None:
        super().__init__(errno.ELOOP, f"leads out of the worktree, to {where}", str(path))
        self.where = where


def load_bytes(path: Path) -> bytes:
    """Return the content of a regular file of the user's own, or of a link to one.

    A pipe or a device in its place would block the reader or never end. Raises OSError.
    """
    return _load(os.open(path, _READ), path, b"")


def load_inside(top: Path, path: Path, known: bytes = b"") -> bytes:
    """Return the content of a regular file of the worktree at ``top``; links within it are followed.

    If the content equals ``known``, return that object, so that a large unchanged file is not stored twice.
    Raises OSError, and OutsideError for a path that leads out of the worktree.
    """
    return _load(_open_inside(top, path, _READ), path, known)


def load_beginning(top: Path, path: Path, limit: int) -> bytes:
    """Return at most so many bytes of such a file. Raises as ``load_inside`` does."""
    descriptor = _open_inside(top, path, _READ)
    try:
        _require_file(descriptor, path)
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def folder_inside(top: Path, folder: Path) -> Iterator[int]:
    """Open a folder of the worktree at ``top`` for reading. Raises as ``load_inside`` does."""
    descriptor = _open_inside(top, folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def load_entry(top: Path, path: Path, folder: int) -> bytes:
    """Return the content of a file in an open folder. Raises as ``load_inside`` does."""
    try:
        descriptor = os.open(path.name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return load_inside(top, path)
    return _load(descriptor, path, b"")


def require_inside(top: Path, path: Path) -> str:
    """Return the real path of a path of the worktree at ``top``, which may not exist.

    The repository does not count as part of the worktree, because it may hold secrets. Raises OutsideError.
    """
    inside, where = Path(os.path.realpath(top)), Path(os.path.realpath(path))
    if not where.is_relative_to(inside) or ".git" in map(str.lower, where.relative_to(inside).parts):
        raise OutsideError(path, str(where))
    return str(where)


def _open_inside(top: Path, path: Path, flags: int) -> int:
    """Open a path without following links, or its real path if that is inside."""
    try:
        return _open_stepwise(top, path.relative_to(top).parts, flags)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
    where, inside = Path(require_inside(top, path)), Path(os.path.realpath(top))
    if where.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return _open_stepwise(inside, where.relative_to(inside).parts, flags)


def _open_stepwise(top: Path, steps: tuple[str, ...], flags: int) -> int:
    """Open a path below ``top`` component by component, so that a link created meanwhile is not followed."""
    *folders, name = steps or (".",)
    here = os.open(top, _FOLDER)
    try:
        for step in folders:
            below = os.open(step, _FOLDER | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        return os.open(name, flags | os.O_NOFOLLOW, dir_fd=here)
    finally:
        os.close(here)


def _load(descriptor: int, path: Path, known: bytes) -> bytes:
    """Read and close an open file."""
    try:
        found = _require_file(descriptor, path)
        if known and found.st_size == len(known) and _is_known(descriptor, known):
            return known
        os.lseek(descriptor, 0, os.SEEK_SET)
        return b"".join(iter(lambda: os.read(descriptor, found.st_size + 1), b""))
    finally:
        os.close(descriptor)


def _require_file(descriptor: int, path: Path) -> os.stat_result:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return found


def _is_known(descriptor: int, known: bytes) -> bool:
    place = 0
    while piece := os.read(descriptor, _PIECE_BYTES):
        if known[place : place + len(piece)] != piece:
            return False
        place += len(piece)
    return place == len(known)
