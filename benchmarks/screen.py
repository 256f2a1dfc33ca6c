"""The application in a terminal, for row 17: keys are sent, and what is painted is read."""

import os
import pty
import re
import select
import signal
import struct
import time
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ
from typing import Self

from benchmarks.bench import Bench
from benchmarks.measuring import Sample
from benchmarks.plans import task_id

_PATIENCE_SECONDS = 60.0
_QUIET_SECONDS = 0.3
_KEPT_BYTES = 65536
_CONTROL = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]")
_DOWN, _UP, _END = b"j", b"k", b"\x1b[F"


class Screen:
    """80 columns and 24 lines over a plan of ``tasks`` numbered ones; ``cursor`` is where its cursor is."""

    def __init__(self, bench: Bench, repo: Path, tasks: int) -> None:
        self._program = bench.program
        self._environ = {**bench.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._repo = repo
        self._last = tasks - 1
        self._painted = b""
        self.cursor = 0

    def __enter__(self) -> Self:
        self._began = time.perf_counter()
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self._repo)
            os.execve(self._program, [self._program, "tui"], self._environ)
        ioctl(self._terminal, TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGTERM)
        while select.select([self._terminal], [], [], _PATIENCE_SECONDS)[0] and self._read():
            pass
        os.waitpid(self.pid, 0)
        os.close(self._terminal)

    def first_paint(self) -> Sample:
        """Wait for the first task on the screen."""
        self.wait_for(task_id(0).encode())
        return Sample((time.perf_counter() - self._began) * 1000, 0.0)

    def press(self, keys: bytes, shows: bytes) -> Sample:
        """Press keys, and wait until a text is painted."""
        self._painted = b""
        began = time.perf_counter()
        os.write(self._terminal, keys)
        self.wait_for(shows)
        return Sample((time.perf_counter() - began) * 1000, 0.0)

    def move(self, step: int) -> Sample:
        """Move to the next task, or to the one before."""
        self.cursor += step
        return self.press(_DOWN if step > 0 else _UP, task_id(self.cursor).encode())

    def move_to_end(self) -> None:
        """Go to the last task."""
        self.cursor = self._last
        self.press(_END, task_id(self.cursor).encode())

    def shows(self, text: bytes) -> bool:
        """Whether a text was painted since the last key."""
        return text in _CONTROL.sub(b"", self._painted)

    def drain(self) -> None:
        """Read what still comes, until nothing does for a moment."""
        while select.select([self._terminal], [], [], _QUIET_SECONDS)[0] and self._read():
            pass

    def wait_for(self, text: bytes) -> None:
        """Wait until a text was painted since the last key."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not self.shows(text):
            assert time.monotonic() < deadline, f"{text!r} never came: {self._painted[-2000:]!r}"
            if select.select([self._terminal], [], [], 0.5)[0]:
                assert self._read(), f"it has ended: {self._painted[-2000:]!r}"

    def _read(self) -> bool:
        """Read what is there; false at the end."""
        try:
            data = os.read(self._terminal, _KEPT_BYTES)
        except OSError:
            return False
        self._painted = (self._painted + data)[-2 * _KEPT_BYTES :]
        return bool(data)
