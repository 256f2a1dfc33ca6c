"""Lines from standard input, read where waiting for them holds up nothing."""

import asyncio
import os
import sys
import threading
from collections import deque
from contextlib import suppress

_CHUNK = 65536
_MAX_LINE = 1024 * 1024
_STDIN = 0


class StdinReader:
    """Reads in a thread that is never waited for: a cancelled question leaves nothing hanging.

    Reading begins with the first question and goes no further than asked. What was typed on a terminal
    before a question was put is no answer to it; what came from a pipe or a file is.
    """

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._rest = b""
        # Without a standard input its number may belong to any other file by now.
        self._ended = sys.stdin is None
        self._wanted = threading.Semaphore(0)
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_reading = False
        self._thread: threading.Thread | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether someone types here."""
        return sys.stdin is not None and sys.stdin.isatty()

    def begin(self) -> None:
        """Start a question."""
        if self.is_terminal:
            while not self._chunks.empty():
                self._take(self._chunks.get_nowait())
            self._lines.clear()

    async def line(self) -> str | None:
        """Return the next line without its end; None once there are no more."""
        while not self._lines:
            if self._ended:
                return None
            if not self._is_reading:  # as it still does for a question that was cancelled
                self._start_reading()
            self._take(await self._chunks.get())
        return self._lines.popleft()

    def _start_reading(self) -> None:
        self._is_reading = True
        if self._thread is None:
            loop = asyncio.get_running_loop()
            self._thread = threading.Thread(
                target=self._read, args=(loop,), name="standard input", daemon=True
            )
            self._thread.start()
        self._wanted.release()

    def _take(self, data: bytes) -> None:
        self._is_reading = False
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(_text(line) for line in lines)
        self._ended = not data or len(self._rest) > _MAX_LINE
        if self._ended and self._rest:
            self._lines.append(_text(self._rest[:_MAX_LINE]))
            self._rest = b""

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            self._wanted.acquire()
            data = b""
            with suppress(OSError):
                data = os.read(_STDIN, _CHUNK)
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, data)
            except RuntimeError:
                # The loop is closed: the program is about to end and asks no more.
                return


def _text(line: bytes) -> str:
    return line.decode(errors="replace").removesuffix("\r")
