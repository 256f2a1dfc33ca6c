"""Identifiers: task ids, which become file names, and run ids, which sort by time."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NewType

TaskId = NewType("TaskId", str)
RunId = NewType("RunId", str)

MAX_TASK_ID_BYTES = 128
TASK_ID_RULE = (
    "use 1 to 128 bytes without '/', '\\', control characters or spaces at the ends, not starting with '.'"
)


_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def task_id_fault(text: str) -> str | None:
    """Say why ``text`` cannot name a task; None when it can.

    Task ids become file names, so one that could leave its folder, hide itself or break a line is refused.
    """
    if _PLAIN_ID.fullmatch(text):
        return None
    bad = next((char for char in text if char in "/\\" or unicodedata.category(char) in {"Cc", "Cs"}), None)
    found = {
        "is empty": not text,
        "has white space at an end": text != text.strip(),
        "starts with '.'": text.startswith("."),
        f"contains {bad!a}": bad is not None,
        f"is longer than {MAX_TASK_ID_BYTES} bytes": len(text.encode(errors="replace")) > MAX_TASK_ID_BYTES,
    }
    return next((what for what, holds in found.items() if holds), None)


def fold_task_id(text: str) -> str:
    """Give the form in which two task ids must differ: file systems may ignore case and composition."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def folding_clashes(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of ids that some file systems would take for one, each with the smaller id first."""
    first: dict[str, str] = {}
    clashes: list[tuple[str, str]] = []
    for task in sorted(ids):
        kept = first.setdefault(fold_task_id(task), task)
        if kept != task:
            clashes.append((kept, task))
    return clashes


def is_run_id(text: str) -> bool:
    """Whether ``text`` has the form of a run id: 16 lower-case hex digits."""
    return len(text) == 16 and all(char in "0123456789abcdef" for char in text)


def build_run_id(nanoseconds: int, random_bits: int) -> RunId:
    """Make the id of a run that starts at ``nanoseconds`` since 1970; 16 random bits tell two apart."""
    milliseconds = nanoseconds // 1_000_000
    return RunId(f"{milliseconds & 0xFFFF_FFFF_FFFF:012x}{random_bits & 0xFFFF:04x}")
