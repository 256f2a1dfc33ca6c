"""The saved streams of a run: read while the agent writes them, limited in size, and read again later.

The files are the child's own standard output and error: its output does not pass through this
process, and a descendant that keeps a stream open does not block it.
"""

import os
import resource
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from git_blackbird.model.base.redaction import Redactor, Span
from git_blackbird.model.base.system import is_exhausted, make_own_folder
from git_blackbird.model.run.ended import TAIL_BYTES, Ended

if TYPE_CHECKING:
    # Readers of logs parse none.
    from git_blackbird.agents.protocol import OutputParser

# A multiple of the block size of usual file systems: only whole blocks can be freed.
_ALIGNMENT = 64 * 1024
_KEEP_SIZE_AND_PUNCH = 0x01 | 0x02
CHUNK_BYTES = 256 * 1024
_LIVE_BYTES = 32 * 1024
_MAX_SLACK_BYTES = 16 * 1024 * 1024
_MIN_SLACK_BYTES = 64 * 1024
_MAX_BACKLOG_BYTES = 1024 * 1024
_FREED_AT_ONCE = 1024 * 1024
# Between two pieces, so that another thread, such as the screen's, gets the interpreter.
_PAUSE_SECONDS = 0.0005


class LogFiles(NamedTuple):
    """The log files of a run; ``max_bytes`` is how many bytes of each are kept."""

    stdout: Path
    stderr: Path
    max_bytes: int
    redactor: Redactor | None


def open_log(path: Path) -> int:
    """Create a log file for its owner only, opened for appending."""
    make_own_folder(path.parent, mode=0o700)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o600)


class _Mask:
    """Masks secrets in what is read of a log, and in the file; what may begin one is held back."""

    def __init__(self, descriptor: int, redactor: Redactor | None) -> None:
        self._fd = descriptor
        self._redactor = redactor
        self._held = b""
        self._end = 0

    def take(self, data: bytes, start: int) -> bytes:
        """Return the decided output up to the end of a piece, which begins at ``start``."""
        if self._redactor is None:
            return data
        before = b"" if start == self._end else self.release()
        window = self._held + data
        masked, spans = self._redactor.mask_decided(window)
        self._write(start - len(self._held), masked, spans)
        self._held, self._end = window[len(masked) :], start + len(data)
        return before + masked

    def release(self) -> bytes:
        """Return what was held back: nothing follows it."""
        if self._redactor is None or not self._held:
            return b""
        masked, spans = self._redactor.mask(self._held)
        self._write(self._end - len(self._held), masked, spans)
        self._held = b""
        return masked

    def _write(self, start: int, masked: bytes, spans: Sequence[Span]) -> None:
        for begin, end, _ in spans:
            # The child may have truncated the file meanwhile.
            if start + end <= os.fstat(self._fd).st_size:
                os.pwrite(self._fd, masked[begin:end], start + begin)


class TailedLog:
    """A log file that a child writes, read from its end at creation of this object, without secrets.

    Beyond ``max_bytes``, the space of what was read is freed, except for the last part. The file's size still
    counts all output, even if this process is killed.

    If the file system does not support that, the file is truncated repeatedly. Output between reading the
    size and truncating is then neither kept nor counted.
    """

    def __init__(self, path: Path, max_bytes: int, redactor: Redactor | None = None) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._redactor = redactor
        self._mask = _Mask(self._fd, redactor)
        self._max_bytes = max_bytes
        self._slack = min(_MAX_SLACK_BYTES, max(_MIN_SLACK_BYTES, max_bytes // 4))
        self._limit = max_bytes + self._slack
        self._offset = self.size()
        self._first_beyond = -(-max_bytes // _ALIGNMENT) * _ALIGNMENT
        self._freed = self._first_beyond
        self._can_free = True
        self._tail = b""
        # Something is missing between what was read and what comes next: insert a line end, so that both are
        # not read as one line.
        self._torn = False
        self.seen = 0
        self.dropped = 0
        self._passed_over = 0

    @property
    def redacted(self) -> dict[str, int]:
        """The number of masked secrets of each kind, in all logs with the same redactor."""
        return {} if self._redactor is None else dict(self._redactor.counts)

    @property
    def marks(self) -> dict[str, str]:
        """What stands in the places of these secrets, with the kind of each."""
        return {} if self._redactor is None else dict(self._redactor.marks)

    @property
    def tail(self) -> str:
        return self._tail.decode(errors="replace")

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, end: int | None = None, *, whole: bool = True) -> bytes:
        """Return the next piece, up to ``end``; b"" if all is read, or the rest may begin a secret.

        ``seen`` grows with everything that is read. What is far behind is passed over beyond the limit, and
        unless ``whole`` before it; the last part is always read.
        """
        size = self.size()
        if size < self._offset:
            # The child opened its own stream and truncated it (`> /dev/stdout`).
            self.dropped += self._offset
            self._offset, self._freed = 0, self._first_beyond
        behind = size - self._offset - _MAX_BACKLOG_BYTES
        if behind > 0 and (size > self._limit or not whole):
            self._offset += behind
            self.seen += behind
            self._passed_over += behind
            self._torn = True
        room = _LIVE_BYTES if end is None else max(0, min(_LIVE_BYTES, end - self._offset))
        data = os.pread(self._fd, room, self._offset)
        torn, self._torn = self._torn and bool(data), self._torn and not data
        before = self.release() + b"\n" if torn else b""
        masked = before + self._keep(self._mask.take(data, self._offset)) if data else b""
        self._offset += len(data)
        self.seen += len(data)
        if size > self._limit:
            self._shorten(is_all_read=not data)
        return masked

    def release(self) -> bytes:
        return self._keep(self._mask.release())

    def _keep(self, masked: bytes) -> bytes:
        self._tail = (self._tail + masked[-TAIL_BYTES:])[-TAIL_BYTES:]
        return masked

    def take_passed_over(self) -> int:
        """Return how many bytes were passed over before the last piece; each is reported once."""
        passed_over, self._passed_over = self._passed_over, 0
        return passed_over

    def close(self) -> None:
        """Count the last output and close the file; ``cut_saved`` truncates it once its record is saved."""
        size = self.size()
        self.seen += max(0, size - self._offset)
        self.dropped += max(0, size - self._max_bytes)
        os.close(self._fd)

    def _shorten(self, *, is_all_read: bool) -> None:
        """Limit the space on disk to the bound and some slack."""
        if not self._can_free:
            if is_all_read:
                self._cut()
            return
        end = (self._offset - self._slack) // _ALIGNMENT * _ALIGNMENT
        if end - self._freed < _FREED_AT_ONCE:
            return
        # The file's size, and data appended meanwhile, stay.
        free = _fallocate()
        length = end - self._freed
        self._can_free = free is not None and free(self._fd, _KEEP_SIZE_AND_PUNCH, self._freed, length) == 0
        self._freed = end

    def _cut(self) -> None:
        size = self.size()
        os.ftruncate(self._fd, self._max_bytes)
        unread = max(0, size - self._offset)
        self.seen += unread
        self.dropped += size - self._max_bytes
        self._torn = self._torn or unread > 0
        self._offset = self._max_bytes


def read_saved(reader: "OutputParser", files: LogFiles, exit_code: int | None) -> Ended:
    """Read a run's saved streams as if they had just been printed, after a crash of this program.

    Their secrets are masked in the files, too. Missing files, and whatever an agent put in their place, read
    as empty.
    """
    for data in _masked_pieces(files.stdout, files.redactor):
        reader.feed(data)
    mask_saved(files.stderr, files.redactor)
    return reader.finish(exit_code, read_tail(files.stderr))


def mask_saved(path: Path, redactor: Redactor | None) -> None:
    """Mask the secrets in a log; count those that were masked before, too."""
    if redactor is not None:
        for number, data in enumerate(filter(None, _masked_pieces(path, redactor))):
            if number:
                time.sleep(_PAUSE_SECONDS)
            redactor.count_marks(data)


def _masked_pieces(path: Path, redactor: Redactor | None) -> Iterator[bytes]:
    """Read a log with a line end in place of each freed part; its secrets are masked in the file, too."""
    with _opened(path, os.O_RDWR) as descriptor:
        if descriptor is None:
            return
        mask, offset = _Mask(descriptor, redactor), 0
        while True:
            place = _next_data(descriptor, offset)
            if place > offset:
                yield mask.release() + b"\n"
            data = os.pread(descriptor, CHUNK_BYTES, place)
            if not data:
                yield mask.release()
                return
            yield mask.take(data, place)
            offset = place + len(data)


def count_beyond(path: Path, max_bytes: int) -> int:
    """Return how many bytes a log loses when it is cut to its limit."""
    with _opened(path, os.O_RDWR) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size - _bound(descriptor, max_bytes)


def cut_saved(path: Path, max_bytes: int) -> None:
    """Cut a log to its limit; anything but a regular file is left alone."""
    with _opened(path, os.O_RDWR) as descriptor:
        if descriptor is not None and os.fstat(descriptor).st_size > max_bytes:
            os.ftruncate(descriptor, _bound(descriptor, max_bytes))


def _bound(descriptor: int, max_bytes: int) -> int:
    size = os.fstat(descriptor).st_size
    if size <= max_bytes:
        return size
    # The limit may have been smaller when the rest was freed.
    with suppress(AttributeError, OSError):  # unsupported, or the file is empty
        return min(max_bytes, os.lseek(descriptor, 0, os.SEEK_HOLE))
    return max_bytes


def read_tail(path: Path) -> str:
    """Return the last part of a saved stream, with U+FFFD for invalid UTF-8; "" if there is no such file."""
    with _opened(path, os.O_RDONLY) as descriptor:
        if descriptor is None:
            return ""
        start = max(0, os.fstat(descriptor).st_size - TAIL_BYTES)
        return os.pread(descriptor, TAIL_BYTES, start).decode(errors="replace")


class LogReader:
    """The log of one stream, from the start or from its last ``tail`` bytes, at the first of some places.

    It moves once its run has ended. What is no regular file reads as empty.
    """

    def __init__(self, places: Sequence[Path], tail: int | None = None) -> None:
        self._places = places
        self._offset = 0
        with _opened(self._place(), os.O_RDONLY) as descriptor:
            self.size = 0 if descriptor is None else os.fstat(descriptor).st_size
        if tail is not None:
            self._offset = max(0, self.size - tail)
        self.passed_over = self._offset

    def read(self) -> bytes:
        with _opened(self._place(), os.O_RDONLY) as descriptor:
            if descriptor is None:
                return b""
            # Continue at the new end of a file that was truncated to its limit, or after the middle of
            # a large one that was freed.
            self._offset = _next_data(descriptor, min(self._offset, os.fstat(descriptor).st_size))
            data = os.pread(descriptor, CHUNK_BYTES, self._offset)
        self._offset += len(data)
        return data

    def _place(self) -> Path:
        return next((place for place in self._places if place.exists()), self._places[-1])

    def pieces(self) -> Iterator[bytes]:
        while data := self.read():
            yield data


@contextmanager
def _opened(path: Path, access: int) -> Iterator[int | None]:
    """Open a saved stream; None if it is missing or not a regular file."""
    try:
        descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if is_exhausted(error):
            raise
        yield None
        return
    try:
        yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def _next_data(descriptor: int, offset: int) -> int:
    with suppress(AttributeError, OSError):  # unsupported, or nothing follows
        return os.lseek(descriptor, offset, os.SEEK_DATA)
    return offset


@cache
def _fallocate() -> Any:
    if not hasattr(os, "posix_fallocate") or os.uname().sysname != "Linux":
        return None
    # The size of a file includes its holes, so a limit on it would stop the writer.
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        return None
    import ctypes  # only for a log beyond its limit

    library = ctypes.CDLL(None, use_errno=True)
    allocate = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if allocate is not None:
        allocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    return allocate
