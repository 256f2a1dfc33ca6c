"""The process as it is found: its standard streams, its Ctrl+C, and what its edge and the commands share."""

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from types import FrameType
from typing import TYPE_CHECKING, Literal, TextIO

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.system import Debouncer

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from git_blackbird.controller.core.environment import Environment


class OutputError(UnusableError):
    """Standard output takes nothing more, and somebody wanted what was to be printed there."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to standard output: {error.strerror or error}")


class _StandardOutput(io.FileIO):
    """Raise OutputError if nothing can be written, and BrokenPipeError as usual if the reader has left."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some of the data. Raises OutputError, BrokenPipeError."""
        try:
            return write_some(self.fileno(), data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error) from error


class _StandardError(io.FileIO):
    """Drop what cannot be written: a message that cannot be printed must not end the command."""

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write some of the data, or let it go."""
        try:
            return write_some(self.fileno(), data)
        except OSError:
            return memoryview(data).nbytes


def write_some(descriptor: int, data: "ReadableBuffer") -> int:
    """Write some of the data, also to a non-blocking descriptor; return the number of bytes."""
    while True:
        try:
            return os.write(descriptor, data)
        except BlockingIOError:
            import select  # only a descriptor that somebody made non-blocking pays for it

            with suppress(OSError):
                select.select([], [descriptor], [], 1.0)


def prepare_streams() -> None:
    """Open closed standard streams, and let nothing but standard output that takes no more end a command.

    A closed one becomes /dev/null, as in git: else the next file opened would take its number, what is meant
    for a terminal would be written into a record, and a lock file be read as an answer. A letter that the
    locale's encoding lacks is printed as a ``?``.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or _nowhere(0, "r")
    sys.stdout = sys.stdout or _nowhere(1, "w")
    sys.stderr = sys.stderr or _nowhere(2, "w")
    sys.stdout = _rewrapped(sys.stdout, _StandardOutput)
    sys.stderr = _rewrapped(sys.stderr, _StandardError)


def _nowhere(number: int, mode: Literal["r", "w"]) -> TextIO:
    return open(number, mode, encoding="utf-8", closefd=False)  # a descriptor


def _rewrapped(stream: TextIO, kind: type[io.FileIO]) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    raw = kind(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="replace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def is_capable_terminal(environ: Mapping[str, str]) -> bool:
    """Whether both ends are a terminal that moves its cursor; on a dumb one, lines are what it can."""
    ends = (sys.stdin, sys.stdout)
    is_terminal = all(stream is not None and stream.isatty() for stream in ends)
    return is_terminal and environ.get("TERM", "dumb") != "dumb"


def debounce_sigint(now: Callable[[], float] = time.monotonic) -> None:
    """Let a Ctrl+C raise KeyboardInterrupt once, so that its echo does not strike what the first one began.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    presses = Debouncer(now)

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        if presses.is_new():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)


class AppState:
    """What the edge hands to the commands, and learns from them: whether errors must speak JSON.

    ``begin`` is for a command to call before it does anything.
    """

    def __init__(self, make_world: "Callable[[], Environment]", begin: Callable[[], None] | None) -> None:
        self._make_world = make_world
        self.begin = begin
        self.as_json = False

    @cached_property
    def environment(self) -> "Environment":
        """The environment, made when a command first needs it."""
        return self._make_world()
