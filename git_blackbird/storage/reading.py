"""Reading a file that a clone or an agent may have put there."""

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
    """A path leads out of the worktree, by a link in it; ``where`` is the place that it leads to."""

    def __init__(self, path: Path, where: str) -> None:
        super().__init__(errno.ELOOP, f"leads out of the worktree, to {where}", str(path))
        self.where = where


def load_bytes(path: Path) -> bytes:
    """Give the content of a regular file of the user's own; a link to one counts as one.

    A pipe or a device in its place would hang the reader or never end. Raises OSError.
    """
    return _load(os.open(path, _READ), path, b"")


def load_inside(top: Path, path: Path, known: bytes = b"") -> bytes:
    """Give the content of a regular file of the worktree at ``top``; links that stay in it are followed.

    Where that is ``known``, it is this very value: a large file that stays as it is takes no more memory.
    Raises OSError, and OutsideError for a path that leads out of the worktree.
    """
    return _load(_open_inside(top, path, _READ), path, known)


def load_beginning(top: Path, path: Path, limit: int) -> bytes:
    """Give at most so many bytes of such a file. Raises as ``load_inside`` does."""
    descriptor = _open_inside(top, path, _READ)
    try:
        _require_file(descriptor, path)
        return os.read(descriptor, limit)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def folder_inside(top: Path, folder: Path) -> Iterator[int]:
    """Open a folder of the worktree at ``top``, to read what is in it. Raises as ``load_inside`` does."""
    descriptor = _open_inside(top, folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def load_entry(top: Path, path: Path, folder: int) -> bytes:
    """Give the content of a file whose folder is open already. Raises as ``load_inside`` does."""
    try:
        descriptor = os.open(path.name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        return load_inside(top, path)
    return _load(descriptor, path, b"")


def require_inside(top: Path, path: Path) -> str:
    """Give the real place of a path of the worktree at ``top``, where something may be or not.

    The repository itself is no part of the worktree, though it lies in it: it may hold secrets. Raises
    OutsideError.
    """
    inside, where = Path(os.path.realpath(top)), Path(os.path.realpath(path))
    if not where.is_relative_to(inside) or ".git" in map(str.lower, where.relative_to(inside).parts):
        raise OutsideError(path, str(where))
    return str(where)


def _open_inside(top: Path, path: Path, flags: int) -> int:
    """Open a path without following any link, or what it really is where there is one and that is inside."""
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
    """Open what is below ``top`` step by step: a link that someone puts there meanwhile is not followed."""
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
    """Read an open file, and close it."""
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
