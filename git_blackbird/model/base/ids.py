"""Identifiers of tasks, runs, git objects and sessions, and their validation.

Task and run ids become file names; all of them may reach the command line of a program.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from itertools import chain, count
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NewType

from git_blackbird.model.base.sanitize import find_hidden

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

TaskId = NewType("TaskId", str)
RunId = NewType("RunId", str)

MAX_TASK_ID_BYTES = 128
_TITLE_ID_LENGTH = 30
NAME_OF_CHECK = "[a-z0-9][a-z0-9-]*"
MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.:/@+\[\]-]{0,199}$"
"""A model name, which no agent can take for an option."""
AGENT_NAME = r"^[a-z][a-z0-9-]{0,39}$"
TASK_ID_RULE = (
    "use 1 to 128 bytes without '/', '\\', control or invisible characters, or spaces at the ends, "
    "not starting with '.'"
)

# Control, surrogate, private use and unassigned characters, whose appearance is unknown.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

PLANNING = TaskId(".plan")
"""The name under which those runs are recorded that plan; no task can have it."""

_PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def task_id_fault(text: str) -> str | None:
    """Return why ``text`` is no valid task id, or None.

    Task ids become file names and are displayed everywhere, so one that could leave its folder, hide itself,
    break a line or look like another one is rejected.
    """
    if _PLAIN_ID.fullmatch(text):
        return None
    bad = next(filter(_is_refused, text), None)
    faults = {
        "is empty": not text,
        "has white space at an end": text != text.strip(),
        "starts with '.'": text.startswith("."),
        f"contains {bad!a}": bad is not None,
        f"is longer than {MAX_TASK_ID_BYTES} bytes": len(text.encode(errors="replace")) > MAX_TASK_ID_BYTES,
    }
    return next((what for what, holds in faults.items() if holds), None)


def owner_fault(text: str) -> str | None:
    """Return why ``text`` cannot be what a run was made for, a task or planning, or None."""
    return None if text == PLANNING else task_id_fault(text)


def _is_refused(char: str) -> bool:
    is_hidden = find_hidden(char) is not None
    return is_hidden or char in "/\\" or unicodedata.category(char) in _REFUSED_CATEGORIES


def fold_task_id(text: str) -> str:
    """Return the form in which task ids must differ: file systems may ignore case and Unicode composition."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def task_id_from(title: str, taken: Collection[str]) -> TaskId:
    """Make an id of the words of a title that is none of the folded ids in ``taken``."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", title) if not unicodedata.combining(char))
    words = [word for word in re.findall(r"[^\W_]+", plain.casefold()) if task_id_fault(word) is None]
    name = ""
    for word in words:
        if len(longer := f"{name}-{word}" if name else word) > _TITLE_ID_LENGTH:
            break
        name = longer
    name = name or "".join(words[:1])[:_TITLE_ID_LENGTH] or "task"
    numbered = chain([name], (f"{name}-{number}" for number in count(2)))
    return TaskId(next(one for one in numbered if fold_task_id(one) not in taken))


class IdIndex:
    """Ids by what they begin with, for many names: not each is compared with each."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = sorted(ids)

    def find(self, name: str) -> list[str]:
        """Return the id that a name is, or those that it begins, in alphabetical order."""
        if not name:
            return []
        first = bisect_left(self._ids, name)
        end = bisect_left(self._ids, True, first, key=lambda one: not one.startswith(name))
        found = self._ids[first:end]
        return found[:1] if found[:1] == [name] else found


def case_conflicts(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of ids that some file systems would confuse, each with the smaller id first."""
    first: dict[str, str] = {}
    clashes: list[tuple[str, str]] = []
    for task in sorted(ids):
        other = first.setdefault(fold_task_id(task), task)
        if other != task:
            clashes.append((other, task))
    return clashes


class Checked(NamedTuple):
    """Annotation by which pydantic validates a text; ``fault`` returns its error, after ``prefix``, or None.

    pydantic is not imported here: most modules that use ids read no files.
    """

    fault: Callable[[str], str | None]
    prefix: str = ""

    def __get_pydantic_core_schema__(self, source: Any, handler: "GetCoreSchemaHandler") -> "CoreSchema":
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(self.check, handler(source))

    def check(self, text: str) -> str:
        """Return the text. Raises ValueError if it is invalid."""
        fault = self.fault(text)
        if fault is not None:
            raise ValueError(self.prefix + fault)
        return text


_OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_RUN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_OUR_RUN_ID = re.compile(r"[0-9a-f]{16}")
_MAX_SESSION_LENGTH = 256


def object_id_fault(text: str) -> str | None:
    """Return why ``text`` is not the full name of a git object, or None."""
    return None if _OBJECT_ID.fullmatch(text) else "not an object id (40 or 64 hex digits)"


def run_id_fault(text: str) -> str | None:
    """Return why ``text`` cannot be a run id, or None; it becomes part of paths and refs.

    Ids of other programs need not have the form of ours.
    """
    return None if _RUN_ID.fullmatch(text) else "not a run id (letters, digits, '_' and '-', at most 64)"


def is_our_run_id(text: str) -> bool:
    """Whether a text has the form of the ids that ``build_run_id`` makes."""
    return _OUR_RUN_ID.fullmatch(text) is not None


def session_fault(text: str) -> str | None:
    """Return why ``text`` cannot be a provider's session name, or None: it must not look like an option."""
    if text.startswith("-") or not text.isprintable() or len(text) > _MAX_SESSION_LENGTH:
        return "not the name of a session"
    return None


CheckedTaskId = Annotated[TaskId, Checked(task_id_fault, "not a task id, it ")]
"""A task's id read from a file."""

CheckedOwner = Annotated[TaskId, Checked(owner_fault, "not a task id, it ")]
"""What a run was made for, read from a file: a task's id, or ``PLANNING``."""

CheckedRunId = Annotated[RunId, Checked(run_id_fault)]
"""A run's id read from a file."""

ObjectId = Annotated[str, Checked(object_id_fault)]
"""The full name of a git object: never a revision, a range or an option."""

SessionRef = Annotated[str, Checked(session_fault)]
"""A provider's name for a conversation."""


def build_run_id(nanoseconds: int, random_bits: int) -> RunId:
    """Return the id of a run that starts at ``nanoseconds`` since 1970; 16 random bits make it unique."""
    milliseconds = nanoseconds // 1_000_000
    return RunId(f"{milliseconds & 0xFFFF_FFFF_FFFF:012x}{random_bits & 0xFFFF:04x}")
