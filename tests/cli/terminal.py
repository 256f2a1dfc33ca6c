"""A terminal of 80 columns with the real program in it: what is typed, what is seen, what was sent."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pyte

from tests import preloaded

PATIENCE_SECONDS = 30.0
LEAVING_SECONDS = 1.0
ROWS, COLUMNS = 60, 80
PROGRAM = ("-m", "git_blackbird")
_SOURCES = str(Path(__file__).parents[2])

UP, DOWN, ESCAPE, ENTER = "\x1b[A", "\x1b[B", "\x1b", "\r"
CTRL_C, CTRL_D, CTRL_S, ALT_ENTER, TAB = "\x03", "\x04", "\x13", "\x1b\r", "\t"


def program_environ(environ: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """The test's environment with the program's sources on the path; None takes a variable out."""
    changed = {
        "PYTHONPATH": _SOURCES,
        "TERM": "xterm-256color",
        "PAGER": "cat",
        "LINES": None,
        **(environ or {}),
    }
    whole = {**os.environ, **changed}
    return {name: value for name, value in whole.items() if value is not None}


class Terminal:
    """One run of the program; close it by leaving the ``with`` block."""

    def __init__(
        self,
        cwd: Path,
        *args: str,
        environ: Mapping[str, str | None] | None = None,
        rows: int = ROWS,
        columns: int = COLUMNS,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        self.sent = b""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._end, theirs = pty.openpty()
        termios.tcsetwinsize(self._end, (rows, columns))
        command = [sys.executable, *program, *args]
        self._program = preloaded.OnTerminal(
            command, cwd=cwd, env=program_environ(environ), stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        self.mode_before = self.mode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()
        try:
            self._program.wait(LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()

    @property
    def pid(self) -> int:
        return self._program.pid

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
            os.write(self._end, key.encode())

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Wait until the text was sent so many times."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.plain.count(text) < times:
            assert time.monotonic() < deadline, f"{text!r} is not among:\n{self.text}"
            assert self.take() or self.plain.count(text) >= times, f"{text!r} never came:\n{self.text}"

    def wait_to_see(self, text: str, *, times: int = 1) -> None:
        """Wait until the text stands on the screen so many times, however often it was sent.

        What is there already is not sent again, and a prompt that is left is sent once more.
        """
        self.wait_to_match(re.escape(text), times=times)

    def wait_for_decision(self, task_id: str) -> None:
        """Wait until the list of a task's decision is the one that is open, whole.

        A list is sent again whenever something comes above it: how often it was sent says nothing.
        """
        choices = r"\(arrows[^)]*\)\n( .*\n)* .*5\) View full diff"
        self.wait_to_match(rf"{task_id}: Select an action {choices}")

    def wait_to_match(self, pattern: str, *, times: int = 1) -> None:
        """Wait until the screen has so many matches: it may be taken while half of it is drawn."""
        deadline = time.monotonic() + PATIENCE_SECONDS

        def is_seen() -> bool:
            return len(re.findall(pattern, self.text)) >= times

        while not is_seen():
            assert time.monotonic() < deadline, f"{pattern!r} is not to be seen:\n{self.text}"
            has_come = self.take() or is_seen()
            assert has_come, f"{pattern!r} was never to be seen:\n{self.text}"

    def wait_for_list(self, *, times: int = 1) -> None:
        self.wait_for("Enter chooses)", times=times)
        self.wait_for(" View full diff", times=times)

    def end(self) -> int:
        """Wait for the program's end; gives its exit status, as a shell would."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.take():
            assert time.monotonic() < deadline, f"it does not end:\n{self.text}"
        code = self._program.wait()
        return code if code >= 0 else 128 - code

    def hang_up(self) -> None:
        """Close the terminal, as closing its window does, and wait for the program's end."""
        self._hang_up()
        self._program.wait()

    def _hang_up(self) -> None:
        if self._end >= 0:
            os.close(self._end)
            self._end = -1

    def mode(self) -> list[Any]:
        """How the terminal is set."""
        return termios.tcgetattr(self._end)

    def take(self) -> bool:
        """Take what comes; False at the program's end."""
        has_ended = self._program.poll() is not None
        if not select.select([self._end], [], [], 0.0 if has_ended else 0.1)[0]:
            return not has_ended
        try:
            data = os.read(self._end, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self.sent += data
        self._stream.feed(data)
        return True
