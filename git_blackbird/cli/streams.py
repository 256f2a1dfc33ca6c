"""Standard streams as they are found: closed, of an encoding that lacks letters, or a terminal."""

import io
import os
import sys
from collections.abc import Mapping
from typing import IO


def open_closed_streams() -> None:
    """Lead closed standard streams to nowhere, as git does.

    Else the next file opened would take their number: what is meant for a terminal would be written
    into a record, and a lock file be read as an answer.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout = sys.stdout or _nowhere("w")
    sys.stderr = sys.stderr or _nowhere("w")


def _nowhere(mode: str) -> IO[str]:
    return open(os.devnull, mode, encoding="utf-8")  # noqa: PTH123  # --help loads no pathlib


def print_every_letter() -> None:
    """Let no letter that the locale's encoding lacks end a command: a ``?`` takes its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def is_capable_terminal(environ: Mapping[str, str]) -> bool:
    """Whether both ends are a terminal that moves its cursor; on a dumb one, lines are what it can."""
    ends = (sys.stdin, sys.stdout)
    is_terminal = all(stream is not None and stream.isatty() for stream in ends)
    return is_terminal and environ.get("TERM", "dumb") != "dumb"
