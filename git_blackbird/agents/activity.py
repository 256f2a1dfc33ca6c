"""What an agent is doing, as one short line out of whatever it printed."""

import re

MAX_CHARACTERS = 200
_CONTROL_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC and the other strings
    r"|\x1b[ -/]*[0-~]?"
)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


def one_line(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Give ``text`` as one line without control characters, at most ``limit`` characters long."""
    # Cut before cleaning: cleaning a megabyte to show two hundred characters of it is waste.
    plain = _CONTROL_SEQUENCE.sub("", text[: limit * 20])
    line = " ".join(_UNPRINTABLE.sub(" ", plain).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def last_line(text: str) -> str:
    """Give the last line of ``text`` that shows anything, cleaned; "" when there is none."""
    for line in reversed(text.splitlines()):
        shown = one_line(line)
        if shown:
            return shown
    return ""


def exit_text(exit_code: int | None) -> str:
    """Say how a process ended, as ``exit status 7`` or ``killed by signal 9``."""
    if exit_code is None:
        return "ended, nobody knows how"
    return f"killed by signal {-exit_code}" if exit_code < 0 else f"exit status {exit_code}"
