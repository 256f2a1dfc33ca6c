"""Our own files, system errors and hints for them, signals, and pausing garbage collection."""

import contextlib
import errno
import gc
import os
import signal
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING

from git_blackbird.errors import UnusableError

if TYPE_CHECKING:
    from pathlib import Path  # slow to load, for a command that only helps

STATE_NAME = ".blackbird"
PLAN_NAME = "blackbird.plan.json"
HIDDEN = (STATE_NAME, PLAN_NAME)
"""What this program keeps at the top of a worktree, which is no part of any change."""
# How the names of files begin that are on their way to their place; a random number follows.
TEMPORARY = ".blackbird-"

NO_MEMORY = "close other programs or raise the limit, as with `ulimit -v unlimited`, then repeat the command"
NO_THREAD = "close other programs or raise the limit of processes (`ulimit -u`), then repeat the command"
_RIGHTS = "make it readable and writable, then repeat the command"
_FILES = "raise the limit of open files, as with `ulimit -n 256`, then repeat the command"
_SIZE = "raise the limit of a file's size, as with `ulimit -f unlimited`, then repeat the command"
_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "make room, then repeat the command"),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _RIGHTS),
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), _FILES),
    errno.EFBIG: _SIZE,
    errno.ENOMEM: NO_MEMORY,
    errno.EAGAIN: NO_THREAD,
    **dict.fromkeys(
        (errno.EIO, errno.ESTALE, errno.ETIMEDOUT, errno.ENOTCONN, errno.ENXIO, errno.ENODEV, errno.ENOLCK),
        "look at the disk, or the network it is on, then repeat the command",
    ),
}
# They affect every operation, not one file alone.
_COMMON = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_TEXTS = [(os.strerror(number), number) for number in _COMMON]
# In git's own words.
_TEXTS.append(("Out of diskspace", errno.ENOSPC))
# A file system that has no locks answers so; any other error refuses one lock.
NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
# No process can be started at all.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN})


@cache
def boot_id() -> str | None:
    """Return what is another after each start of the system; None where it does not say, as macOS."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123  # as above
            return file.read().strip()
    except FileNotFoundError:
        return None


def has_own_folder(folder: "str | Path") -> bool:
    """Whether a folder of ours is there.

    Raises OSError, and UnusableError for a link or a file in its place: nothing is written elsewhere.
    """
    try:
        kind = os.lstat(folder).st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISDIR(kind):
        what = "a symbolic link" if stat.S_ISLNK(kind) else "a file"
        raise UnusableError(f"{folder} is {what}, not a folder", hint="move it away; state is kept there")
    return True


def make_own_folder(folder: "str | Path", *, mode: int = 0o777) -> None:
    """Create a folder of ours, and those above it, if need be. Raises as ``has_own_folder`` does."""
    if not has_own_folder(folder):
        os.makedirs(folder, mode, exist_ok=True)  # noqa: PTH103  # for every file that is written


def find_on_path(program: str, environ: Mapping[str, str], mode: int = os.X_OK) -> str | None:
    """Return where a program is, or a file of its name for another ``mode``; None if it is nowhere.

    Only absolute folders are searched: all others on ``PATH``, an empty one too, mean the worktree.
    """
    import shutil  # most commands look for no program

    folders = filter(os.path.isabs, environ.get("PATH", os.defpath).split(os.pathsep))
    return shutil.which(program, mode | os.F_OK, os.pathsep.join(folders))


def is_program_missing(program: str, environ: Mapping[str, str]) -> bool:
    """Whether a program of a command is not there; a path that is not absolute is one of some worktree."""
    is_in_worktree = "/" in program and not program.startswith("/")
    return not is_in_worktree and find_on_path(program, environ) is None


def refusal_hint(error: OSError) -> str | None:
    """Return a hint for a system error; None for other errors.

    Errors about missing files or their types are among the others: callers know what they mean.
    """
    return _HINTS.get(error.errno or 0)


def describe(error: Exception) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    name = error.filename
    return f"{os.fsdecode(name)}: {error.strerror}" if isinstance(name, str | bytes) else error.strerror


def hint_in(words: str) -> str | None:
    """Return a hint for a system error in another program's output, whatever its operation was."""
    met = (number for text, number in _TEXTS if text in words)
    return next((_HINTS[number] for number in met), None)


def full_disk_hint(folder: str) -> str | None:
    """Return a hint where nothing can be written below a folder for want of room; None elsewhere.

    Git and libgit2 do not say why they could not write.
    """
    try:
        room = os.statvfs(folder)
    except OSError:
        return None
    # Some file systems count no files.
    is_full = room.f_bavail == 0 or (room.f_files > 0 and room.f_favail == 0)
    return f"the disk is full: {_HINTS[errno.ENOSPC]}" if is_full else None


def is_exhausted(error: OSError) -> bool:
    """Return whether no process at all can be started now."""
    return error.errno in _EXHAUSTED


# File systems keep fractions of a second, or whole seconds only.
_TICK_NANOSECONDS = 100_000_000
_COARSE_TICK_NANOSECONDS = 2_100_000_000


def tick_of(changed: int) -> int:
    """Return how long after a time on a file another write may leave the same one, in nanoseconds."""
    return _TICK_NANOSECONDS if changed % 1_000_000_000 else _COARSE_TICK_NANOSECONDS


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


_LATER = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_to_program() -> Iterator[None]:
    """Leave Ctrl+C to a program with the terminal, and what would end this one until that is done.

    For the thread of the event loop, whose signals come through a descriptor: it would read them there as if
    they had been meant for it.
    """
    missed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGINT:
            missed.append(number)

    descriptor = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, *_LATER)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(descriptor)
        for missed_number in missed:
            signal.raise_signal(missed_number)
