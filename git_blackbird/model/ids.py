"""Identifiers: of tasks, runs, git objects and sessions, and what a file may give for one.

Task and run ids become file names; all of them may reach the command line of a program.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple, NewType

from git_blackbird.model.text import find_hidden

TaskId = NewType("TaskId", str)
RunId = NewType("RunId", str)

MAX_TASK_ID_BYTES = 128
TASK_ID_RULE = (
    "use 1 to 128 bytes without '/', '\\', control or invisible characters, or spaces at the ends, "
    "not starting with '.'"
)

# Control, surrogate, private use and unassigned characters: what they look like is not known.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = "\u2800"

_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def task_id_fault(text: str) -> str | None:
    """Say why ``text`` cannot name a task; None when it can.

    Task ids become file names and are shown everywhere, so one that could leave its folder, hide itself,
    break a line or read as another one is refused.
    """
    if _PLAIN_ID.fullmatch(text):
        return None
    bad = next(filter(_is_refused, text), None)
    found = {
        "is empty": not text,
        "has white space at an end": text != text.strip(),
        "starts with '.'": text.startswith("."),
        f"contains {bad!a}": bad is not None,
        f"is longer than {MAX_TASK_ID_BYTES} bytes": len(text.encode(errors="replace")) > MAX_TASK_ID_BYTES,
    }
    return next((what for what, holds in found.items() if holds), None)


def _is_refused(char: str) -> bool:
    is_unseen = char == _BLANK or find_hidden(char) is not None
    return is_unseen or char in "/\\" or unicodedata.category(char) in _REFUSED_CATEGORIES


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


class Checked(NamedTuple):
    """Metadata of a field's type; ``fault`` says why a text is not of that type, None when it is."""

    fault: Callable[[str], str | None]


_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_MAX_SESSION_LENGTH = 256


def object_id_fault(text: str) -> str | None:
    """Say why ``text`` is not the full name of a git object."""
    return None if _OBJECT_ID.fullmatch(text) else "not an object id (40 or 64 hex digits)"


def run_id_fault(text: str) -> str | None:
    """Say why ``text`` cannot name a run, also of another program: it becomes part of paths and refs."""
    return None if _RUN_ID.fullmatch(text) else "not a run id (letters, digits, '_' and '-', at most 64)"


def session_fault(text: str) -> str | None:
    """Say why ``text`` cannot name a provider's session: it must not read as an option."""
    if text.startswith("-") or not text.isprintable() or len(text) > _MAX_SESSION_LENGTH:
        return "not the name of a session"
    return None


ObjectId = Annotated[str, Checked(object_id_fault)]
"""The full name of a git object: never a revision, a range or an option."""

SessionRef = Annotated[str, Checked(session_fault)]
"""A provider's name for a conversation."""


def is_run_id(text: str) -> bool:
    """Whether ``text`` has the form of a run id: 16 lower-case hex digits."""
    return len(text) == 16 and all(char in "0123456789abcdef" for char in text)


def build_run_id(nanoseconds: int, random_bits: int) -> RunId:
    """Make the id of a run that starts at ``nanoseconds`` since 1970; 16 random bits tell two apart."""
    milliseconds = nanoseconds // 1_000_000
    return RunId(f"{milliseconds & 0xFFFF_FFFF_FFFF:012x}{random_bits & 0xFFFF:04x}")
