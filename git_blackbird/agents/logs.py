"""The saved streams of a run: followed while the agent writes them, bounded, and read again later.

The files are the child's own standard output and error (PERF.md 5): nothing it prints passes through
us on its way to the disk, and no descendant that keeps a stream open can hold us up.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.agents import holes
from git_blackbird.agents.protocol import OutputReader
from git_blackbird.model.conversation import Reading
from git_blackbird.model.system_faults import is_exhausted

TAIL_BYTES = 16 * 1024
CHUNK_BYTES = 256 * 1024
_MAX_SLACK_BYTES = 16 * 1024 * 1024
_MIN_SLACK_BYTES = 64 * 1024
_MAX_BACKLOG_BYTES = 4 * 1024 * 1024
_GIVEN_BACK_AT_ONCE = 1024 * 1024


@dataclass(frozen=True)
class LogFiles:
    """Where a run's streams go, and how many bytes of each are kept."""

    stdout: Path
    stderr: Path
    max_bytes: int


def open_log(path: Path) -> int:
    """Make a log file that only its owner reads, and open it so that every write goes to its end."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.open(path, flags, 0o600)


class FollowedLog:
    """A log file that a child writes, read from where it ended when this was made.

    Of what lies beyond ``max_bytes``, what was read is given back to the disk, all but the last of it. The
    file's size still counts everything that was printed, also when this process is killed.

    Where the file system cannot do that, the file is cut back again and again. Then what the child writes
    between a look at the size and the cut is neither kept nor counted.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._max_bytes = max_bytes
        self._slack = min(_MAX_SLACK_BYTES, max(_MIN_SLACK_BYTES, max_bytes // 4))
        self._limit = max_bytes + self._slack
        self._offset = self.size()
        self._given_back = self._first_beyond
        self._can_give_back = True
        self._tail = b""
        # Something between what was read and what comes next is missing: a line end takes its place, so
        # that both are not read as one line.
        self._torn = False
        self.seen = 0
        self.dropped = 0

    @property
    def tail(self) -> str:
        """The last of what was printed, U+FFFD where it is not UTF-8."""
        return self._tail.decode(errors="replace")

    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self._fd).st_size

    def read(self, end: int | None = None) -> bytes:
        """Give the next piece, at most up to ``end``; b"" when all is read."""
        size = self.size()
        if size < self._offset:
            # The child opened its own stream anew and emptied it (`> /dev/stdout`).
            self.dropped += self._offset
            self._offset, self._given_back = 0, self._first_beyond
        self._leap(size)
        room = CHUNK_BYTES if end is None else max(0, min(CHUNK_BYTES, end - self._offset))
        data = os.pread(self._fd, room, self._offset)
        self._offset += len(data)
        self.seen += len(data)
        self._tail = (self._tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        if size > self._limit:
            self._shorten(is_all_read=not data)
        if data and self._torn:
            self._torn = False
            return b"\n" + data
        return data

    def close(self) -> None:
        """Count what was printed last, and let the file go; ``cut_saved`` cuts it once its record says so."""
        size = self.size()
        self.seen += max(0, size - self._offset)
        self.dropped += max(0, size - self._max_bytes)
        os.close(self._fd)

    @property
    def _first_beyond(self) -> int:
        return -(-self._max_bytes // holes.ALIGNMENT) * holes.ALIGNMENT

    def _leap(self, size: int) -> None:
        """Pass over what is both beyond the bound and too far behind; the last of it is always read."""
        behind = size - self._offset - _MAX_BACKLOG_BYTES
        if size > self._limit and behind > 0:
            self._offset += behind
            self.seen += behind
            self._torn = True

    def _shorten(self, *, is_all_read: bool) -> None:
        """Take no more room than the bound and some slack."""
        if not self._can_give_back:
            if is_all_read:
                self._cut()
            return
        end = (self._offset - self._slack) // holes.ALIGNMENT * holes.ALIGNMENT
        if end - self._given_back < _GIVEN_BACK_AT_ONCE:
            return
        self._can_give_back = holes.punch(self._fd, self._given_back, end)
        self._given_back = end

    def _cut(self) -> None:
        size = self.size()
        os.ftruncate(self._fd, self._max_bytes)
        unread = max(0, size - self._offset)
        self.seen += unread
        self.dropped += size - self._max_bytes
        self._torn = self._torn or unread > 0
        self._offset = self._max_bytes


def read_saved(reader: OutputReader, files: LogFiles, exit_code: int | None) -> Reading:
    """Read a run's saved streams as if they had just been printed, after a crash of ours.

    Missing files read as empty ones, and so does what an agent put in their place.
    """
    with _opened(files.stdout, os.O_RDONLY) as descriptor:
        for data in _pieces(descriptor) if descriptor is not None else ():
            reader.feed(data)
    return reader.finish(exit_code, read_tail(files.stderr))


def _pieces(descriptor: int) -> Iterator[bytes]:
    """Read a file over what was given back of it, in whose place there is a line end."""
    offset = 0
    while True:
        place = holes.next_data(descriptor, offset)
        if place > offset:
            yield b"\n"
        data = os.pread(descriptor, CHUNK_BYTES, place)
        if not data:
            return
        yield data
        offset = place + len(data)


def count_beyond(path: Path, max_bytes: int) -> int:
    """Give how many bytes of what was printed a log loses when it is cut to its bound."""
    with _opened(path, os.O_RDWR) as descriptor:
        return 0 if descriptor is None else os.fstat(descriptor).st_size - _bound(descriptor, max_bytes)


def cut_saved(path: Path, max_bytes: int) -> None:
    """Cut a log to its bound; what is no regular file any more is left alone."""
    with _opened(path, os.O_RDWR) as descriptor:
        if descriptor is not None and os.fstat(descriptor).st_size > max_bytes:
            os.ftruncate(descriptor, _bound(descriptor, max_bytes))


def _bound(descriptor: int, max_bytes: int) -> int:
    size = os.fstat(descriptor).st_size
    # The bound may have been a smaller one when the rest was given back.
    return min(max_bytes, holes.first_hole(descriptor)) if size > max_bytes else size


def read_tail(path: Path) -> str:
    """Give the last of a saved stream, U+FFFD where it is not UTF-8; "" when there is no such file."""
    with _opened(path, os.O_RDONLY) as descriptor:
        if descriptor is None:
            return ""
        start = max(0, os.fstat(descriptor).st_size - TAIL_BYTES)
        return os.pread(descriptor, TAIL_BYTES, start).decode(errors="replace")


@contextmanager
def _opened(path: Path, access: int) -> Iterator[int | None]:
    """Open a saved stream; None where there is none, or a link, a pipe, a folder in its place."""
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
