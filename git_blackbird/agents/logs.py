"""The saved streams of a run: followed while the agent writes them, bounded, and read again later.

The files are the child's own standard output and error (PERF.md 5): nothing it prints passes through
us on its way to the disk, and no descendant that keeps a stream open can hold us up.
"""

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from git_blackbird.agents.protocol import OutputReader
from git_blackbird.model.conversation import Reading

TAIL_BYTES = 16 * 1024
CHUNK_BYTES = 256 * 1024
_MAX_SLACK_BYTES = 16 * 1024 * 1024
_MIN_SLACK_BYTES = 64 * 1024
_MAX_BACKLOG_BYTES = 4 * 1024 * 1024


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

    When more than ``max_bytes`` and some slack are in it, it is cut back after having been read. What
    the child writes between that last read and the cut is lost: microseconds of a stream that is
    already far over its bound.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        self._max_bytes = max_bytes
        slack = min(_MAX_SLACK_BYTES, max(_MIN_SLACK_BYTES, max_bytes // 4))
        self._limit = max_bytes + slack
        self._offset = self.size()
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
            self._offset = 0
        self._leap(size)
        room = CHUNK_BYTES if end is None else max(0, min(CHUNK_BYTES, end - self._offset))
        data = os.pread(self._fd, room, self._offset)
        self._offset += len(data)
        self.seen += len(data)
        self._tail = (self._tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        if not data and size > self._limit:
            self._cut()
        if data and self._torn:
            self._torn = False
            return b"\n" + data
        return data

    def close(self) -> None:
        """Cut the file to its bound and let it go."""
        if self.size() > self._max_bytes:
            self._cut()
        os.close(self._fd)

    def _leap(self, size: int) -> None:
        """Pass over what is both beyond the bound and too far behind; the last of it is always read."""
        behind = size - self._offset - _MAX_BACKLOG_BYTES
        if size > self._limit and behind > 0:
            self._offset += behind
            self.seen += behind
            self._torn = True

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
    with _saved(files.stdout) as stream:
        while data := stream.read(CHUNK_BYTES):
            reader.feed(data)
    return reader.finish(exit_code, read_tail(files.stderr))


def read_tail(path: Path) -> str:
    """Give the last of a saved stream, U+FFFD where it is not UTF-8; "" when there is no such file."""
    with _saved(path) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES))
        return stream.read(TAIL_BYTES).decode(errors="replace")


@contextlib.contextmanager
def _saved(path: Path) -> Iterator[IO[bytes]]:
    """Open a saved stream; an empty one where there is none, or a link, a pipe, a folder in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield io.BytesIO()
        return
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        yield io.BytesIO()
        return
    with os.fdopen(descriptor, "rb") as stream:
        yield stream
