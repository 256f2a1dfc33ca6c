"""What a person writes of a task, apart from where it stands and how it stands."""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from git_blackbird.errors import RequestError
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task

MAX_TITLE_LENGTH = 500
_NOT_IN_A_LINE = frozenset({"Cc", "Zl", "Zp"})
FIELD_NAMES: Mapping[str, str] = {
    "title": "title",
    "description": "description",
    "prompt": "prompt",
    "acceptance_criteria": "acceptance criteria",
    "notes": "notes",
    "deps": "deps",
}
"""How the fields are called before people."""


@dataclass(frozen=True)
class TaskFields:
    """The fields of one task that are edited; the order is the one in which they are shown."""

    title: str
    description: str = ""
    prompt: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    notes: str | None = None
    deps: tuple[TaskId, ...] = ()


FieldsChange = Callable[[TaskFields], TaskFields]
"""Says what the fields are to be, given what they are under the lock."""


def fields_of(task: Task) -> TaskFields:
    """Give the fields of a task as they are."""
    return TaskFields(**{name: getattr(task, name) for name in FIELD_NAMES})


def differing(before: TaskFields, after: TaskFields) -> tuple[str, ...]:
    """Name the fields that differ, as the dataclass does."""
    return tuple(
        one.name for one in fields(TaskFields) if getattr(before, one.name) != getattr(after, one.name)
    )


def title_fault(title: str) -> str | None:
    """Say why a text cannot be a title, which is one line of bounded length; None when it can."""
    if not title.strip():
        return "a task needs a title"
    bad = next((char for char in title if unicodedata.category(char) in _NOT_IN_A_LINE), None)
    if bad is not None:
        return f"a title is one line of text: it contains {bad!a}"
    if len(title) > MAX_TITLE_LENGTH:
        return f"the title has {len(title)} characters, more than {MAX_TITLE_LENGTH}: use the description"
    return None


def check_fields(before: TaskFields | None, after: TaskFields) -> None:
    """Refuse what no person means: a title that is no line, a blank criterion. What stood there may stay.

    Raises RequestError.
    """
    changed = FIELD_NAMES if before is None else differing(before, after)
    fault = title_fault(after.title) if "title" in changed else None
    if fault is not None:
        raise RequestError(fault, hint="--title TEXT")
    if "acceptance_criteria" in changed and not all(text.strip() for text in after.acceptance_criteria):
        raise RequestError("an acceptance criterion is empty", hint="--ac TEXT")


class FieldConflictError(RequestError):
    """Fields that two people changed; ``merged`` has the caller's values of them, ``theirs`` the others'."""

    def __init__(self, names: tuple[str, ...], merged: TaskFields, theirs: TaskFields) -> None:
        told = ", ".join(FIELD_NAMES[name] for name in names)
        super().__init__(f"changed by someone else meanwhile: {told}", hint="nothing was changed")
        self.names = names
        self.merged = merged
        self.theirs = theirs


def merge_fields(base: TaskFields, mine: TaskFields, theirs: TaskFields) -> TaskFields:
    """Put two people's changes of ``base`` together, field by field.

    Raises FieldConflictError for fields that both changed, and not to the same.
    """
    values = {}
    conflicts = []
    for name in FIELD_NAMES:
        was, wanted, found = (getattr(one, name) for one in (base, mine, theirs))
        values[name] = found if wanted == was else wanted
        if wanted not in (was, found) and found != was:
            conflicts.append(name)
    merged = TaskFields(**values)
    if conflicts:
        raise FieldConflictError(tuple(conflicts), merged, theirs)
    return merged
