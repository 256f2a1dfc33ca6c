"""Read the saved streams of a run in pieces, completely or as they grow."""

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.model.base.system import is_exhausted

CHUNK_BYTES = 256 * 1024


class LogReader:
    """One log file, read from the start or from its last ``tail`` bytes.

    An agent may put anything in the file's place: anything but a regular file reads as empty.
    """

    def __init__(self, path: Path, tail: int | None = None) -> None:
        self._path = path
        self._offset = 0
        self.size = self._size()
        if tail is not None:
            self._offset = max(0, self.size - tail)
        self.passed_over = self._offset

    def read(self) -> bytes:
        """Return the next piece; b"" if there is none yet."""
        with _opened(self._path) as descriptor:
            if descriptor is None:
                return b""
            # Continue at the new end of a file that was truncated to its limit.
            self._offset = min(self._offset, os.fstat(descriptor).st_size)
            with contextlib.suppress(AttributeError, OSError):
                # The middle of a large file that is still written may have been removed.
                self._offset = os.lseek(descriptor, self._offset, os.SEEK_DATA)
            data = os.pread(descriptor, CHUNK_BYTES, self._offset)
        self._offset += len(data)
        return data

    def pieces(self) -> Iterator[bytes]:
        """Yield everything up to the present end."""
        while data := self.read():
            yield data

    def _size(self) -> int:
        with _opened(self._path) as descriptor:
            return 0 if descriptor is None else os.fstat(descriptor).st_size


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if is_exhausted(error):
            raise
        yield None
        return
    try:
        yield descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)
