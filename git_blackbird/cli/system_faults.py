"""What the system refused, told as that: a full disk, a limit or a missing right is no bug of ours."""

import errno
import os

from git_blackbird.errors import UnusableError
from git_blackbird.model.text import clean_line

_ROOM = "make room, then repeat the command"
_RIGHTS = "make it readable and writable, then repeat the command"
_FILES = "raise the limit of open files, as with `ulimit -n 256`, then repeat the command"
_MEMORY = "close other programs or raise the limit, as with `ulimit -v unlimited`, then repeat the command"
_DISK = "look at the disk and its cables, or at the network it is on, then repeat the command"

_HINTS: dict[int, str | None] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: "raise the limit of a file's size, as with `ulimit -f unlimited`, then repeat the command",
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: "raise the limit of processes, as with `ulimit -u`, then repeat the command",
    errno.EIO: _DISK,
    errno.ESTALE: _DISK,
    errno.ETIMEDOUT: _DISK,
    errno.ENOTCONN: _DISK,
    errno.ENXIO: _DISK,
    errno.ENODEV: _DISK,
    errno.ENOLCK: _DISK,
    errno.ENOSYS: None,
    errno.EOPNOTSUPP: None,
}
_OUT_OF_MEMORY = "out of memory"
# How Python words that the system gives it no thread, for which it has no error of its own.
_NO_THREAD = "can't start new thread"
# The system's loader of shared objects tells its reasons as text only.
_NOT_LOADED = tuple(os.strerror(number) for number in (errno.EMFILE, errno.ENFILE, errno.ENOMEM))


def as_system_fault(error: BaseException) -> UnusableError | None:
    """Give what to tell of an error that came of the system; None for any other.

    Errors that say which file could be missing or of another kind are not among them: that it can be is for
    this program to know.
    """
    match error:
        case OSError() if error.errno in _HINTS:
            text = os.strerror(error.errno)
            where = _named(error)
            return UnusableError(f"cannot use {where}: {text}" if where else text, hint=_HINTS[error.errno])
        case MemoryError():
            return UnusableError(_OUT_OF_MEMORY, hint=_MEMORY)
        case RuntimeError() if str(error) == _NO_THREAD:
            return UnusableError(str(error), hint=_HINTS[errno.EAGAIN])
        case ImportError() if str(error).endswith(_NOT_LOADED):
            return UnusableError(f"cannot load a part of this program: {error}", hint=_FILES)
        case _:
            return None


def _named(error: OSError) -> str:
    name = error.filename
    return clean_line(os.fsdecode(name)) if isinstance(name, (str, bytes, os.PathLike)) else ""
