"""Shorten the output of agents for display."""

import os
import re
from collections.abc import Sequence

MAX_CHARACTERS = 200
MAX_MESSAGE_CHARACTERS = 8192
_CONTROL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC and other string sequences
    r"|\x1b[ -/]*[0-~]?"
)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def one_line(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return ``text`` as one line without control characters, at most ``limit`` characters long."""
    if len(text) <= limit and text.isprintable() and "  " not in text and text == text.strip():
        return text
    # Cut before cleaning: cleaning a megabyte to show two hundred characters is waste.
    plain = _CONTROL_SEQUENCE.sub("", text[: limit * 20])
    line = " ".join(_UNPRINTABLE.sub(" ", plain).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def last_line(text: str) -> str:
    """Return the last visible line of ``text``, cleaned; "" if there is none."""
    for line in reversed(text.splitlines()):
        if cleaned := one_line(line):
            return cleaned
    return ""


def bounded(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """Return at most ``limit`` characters of ``text``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def top_folders(*folders: str) -> tuple[str, ...]:
    """Return the spellings of a worktree's top that a program may print, for ``inside``."""
    tops = [folder.rstrip("/") for folder in folders if folder.startswith("/")]
    return tuple(dict.fromkeys(path for top in tops for path in (top, os.path.realpath(top)) if path))


def inside(path: str, tops: Sequence[str]) -> str:
    """Return a path relative to the worktree's top; a path outside unchanged."""
    for top in tops:
        if path == top or path.startswith(f"{top}/"):
            return path[len(top) :].strip("/") or "."
    return path


def exit_text(exit_code: int | None) -> str:
    """Return the end of a process as text, such as ``exit status 7`` or ``killed by signal 9``."""
    if exit_code is None:
        return "ended in an unknown way"
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
