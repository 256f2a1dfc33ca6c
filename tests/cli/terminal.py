"""A terminal of 80 columns with the real program in it: what is typed, what is seen, what was sent."""

import os
import re
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pexpect
import pyte

PATIENCE_SECONDS = 30.0
ROWS, COLUMNS = 60, 80
PROGRAM = ("-m", "git_blackbird")
_SOURCES = str(Path(__file__).parents[2])

UP, DOWN, ESCAPE, ENTER = "\x1b[A", "\x1b[B", "\x1b", "\r"
CTRL_C, CTRL_D, CTRL_S, ALT_ENTER, TAB = "\x03", "\x04", "\x13", "\x1b\r", "\t"


def program_environ(environ: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The test's environment with the program's sources on the path; None takes a variable out."""
    changed = {"PYTHONPATH": _SOURCES, "TERM": "xterm-256color", "PAGER": "cat", **(environ or {})}
    whole = {**os.environ, **changed}
    return {name: value for name, value in whole.items() if value is not None}


class Terminal:
    """One run of the program; close it by leaving the ``with`` block."""

    def __init__(self, cwd: Path, *args: str, environ: Mapping[str, str | None] | None = None) -> None:
        self.sent = b""
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)
        self._child = pexpect.spawn(
            sys.executable,
            [*PROGRAM, *args],
            cwd=str(cwd),
            env=program_environ(environ),
            dimensions=(ROWS, COLUMNS),
        )
        self._child.delaybeforesend = None
        self.mode_before = self.mode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close(force=True)

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    @property
    def text(self) -> str:
        """The screen, less what is blank at its ends."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def plain(self) -> str:
        """All that was sent, as text without control sequences."""
        return re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07)", "", self.sent.decode(errors="replace"))

    def type(self, *keys: str) -> None:
        for key in keys:
            self._child.send(key)

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Wait until the text was sent so many times."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.plain.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} is not among:\n{self.text}"
            assert self._take() or self.plain.count(text) >= times, f"{text!r} never came:\n{self.text}"

    def wait_to_see(self, text: str, *, times: int = 1) -> None:
        """Wait until the text stands on the screen so many times, however often it was sent.

        What is there already is not sent again, and a prompt that is left is sent once more.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.text.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} is not to be seen:\n{self.text}"
            is_seen = self._take() or self.text.count(text) >= times
            assert is_seen, f"{text!r} was never to be seen:\n{self.text}"

    def wait_for_list(self, *, times: int = 1) -> None:
        self.wait_for("Enter chooses)", times=times)
        self.wait_for("5) View full diff", times=times)

    def end(self) -> int:
        """Wait for the program's end; gives its exit status, as a shell would."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._take():
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
        self._child.wait()
        self._child.ptyproc.delayafterclose = 0
        if self._child.exitstatus is None:
            return 128 + int(self._child.signalstatus)
        return int(self._child.exitstatus)

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does, and wait for the program's end."""
        self._child.ptyproc.fileobj.close()
        self._child.ptyproc.wait()

    def mode(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._child.child_fd)

    def _take(self) -> bool:
        """Take what comes; False at the program's end."""
        try:
            data = self._child.read_nonblocking(65536, 0.1)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.sent += data
        self._stream.feed(data)
        return True
