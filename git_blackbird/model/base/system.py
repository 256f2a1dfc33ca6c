"""System errors and hints for them, repeated signals, and pausing garbage collection."""

import contextlib
import errno
import gc
import os
from collections.abc import Callable, Iterator

_FULL = "make room, then repeat the command"
_RIGHTS = "make it readable and writable, then repeat the command"
_FILES = "raise the limit of open files, as with `ulimit -n 256`, then repeat the command"
_MEMORY = "close other programs or raise the limit, as with `ulimit -v unlimited`, then repeat the command"
_PROCESSES = "close other programs or raise the limit of processes (`ulimit -u`), then repeat the command"
_SIZE = "raise the limit of a file's size, as with `ulimit -f unlimited`, then repeat the command"
_DISK = "look at the disk, or the network it is on, then repeat the command"

_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _SIZE,
    errno.EROFS: _RIGHTS,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EMFILE: _FILES,
    errno.ENFILE: _FILES,
    errno.ENOMEM: _MEMORY,
    errno.EAGAIN: _PROCESSES,
    errno.EIO: _DISK,
    errno.ESTALE: _DISK,
    errno.ETIMEDOUT: _DISK,
    errno.ENOTCONN: _DISK,
    errno.ENXIO: _DISK,
    errno.ENODEV: _DISK,
    errno.ENOLCK: _DISK,
}
# They affect every operation, not one file alone.
_COMMON = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
# No process can be started at all.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})

NO_MEMORY = _MEMORY
NO_THREAD = _PROCESSES


def refusal_hint(error: OSError) -> str | None:
    """Return a hint for a system error; None for other errors.

    Errors about missing files or their types are among the others: callers know what they mean.
    """
    return _HINTS.get(error.errno or 0)


def describe(error: Exception) -> str:
    """Describe an error in words, with its file."""
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    name = error.filename
    return f"{os.fsdecode(name)}: {error.strerror}" if isinstance(name, str | bytes) else error.strerror


def hint_in(words: str) -> str | None:
    """Return a hint for a system error in another program's output, whatever its operation was."""
    met = (number for number in _COMMON if os.strerror(number) in words)
    return next((_HINTS[number] for number in met), None)


def is_exhausted(error: OSError) -> bool:
    """Whether no process can be started now, rather than only this one."""
    return error.errno in _EXHAUSTED


_ONE_PRESS_SECONDS = 0.25


class Debouncer:
    """Distinguish a new key press from a repeated signal of the last one.

    Under ``git blackbird``, Ctrl+C arrives from the terminal, and again forwarded by git. The same goes for
    closing the terminal. ``now`` returns monotonic seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last = float("-inf")

    def is_new(self) -> bool:
        """Register one signal; return False if it repeats the last."""
        now = self._now()
        if now - self._last < _ONE_PRESS_SECONDS:
            return False
        self._last = now
        return True


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector; if it was paused before, it stays paused."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
