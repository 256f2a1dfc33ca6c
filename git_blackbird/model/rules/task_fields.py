"""The fields of a task that people edit: which values they may have, and how two edits merge."""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import MODEL_NAME, TaskId
from git_blackbird.model.config.layers import AGENT_NAMES
from git_blackbird.model.plan.plan import Task

MAX_TITLE_LENGTH = 500
_NOT_IN_A_LINE = frozenset({"Cc", "Zl", "Zp"})
FIELD_NAMES: Mapping[str, str] = {
    "title": "title",
    "description": "description",
    "prompt": "prompt",
    "acceptance_criteria": "acceptance criteria",
    "notes": "notes",
    "deps": "deps",
    "dep_rationale": "reasons of deps",
    "agent": "agent",
    "model": "model",
}
"""The display names of the fields."""


@dataclass(frozen=True)
class TaskFields:
    """The editable fields of one task, in display order."""

    title: str
    description: str = ""
    prompt: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    notes: str | None = None
    deps: tuple[TaskId, ...] = ()
    dep_rationale: Mapping[TaskId, str] = field(default_factory=dict)
    agent: str | None = None
    model: str | None = None


FieldsChange = Callable[[TaskFields], TaskFields]
"""Return the new fields for the current ones under the lock."""


def fields_of(task: Task) -> TaskFields:
    return TaskFields(**{name: getattr(task, name) for name in FIELD_NAMES})


def changed_fields(before: TaskFields, after: TaskFields) -> tuple[str, ...]:
    return tuple(name for name in FIELD_NAMES if getattr(before, name) != getattr(after, name))


def title_fault(title: str) -> str | None:
    """Return why a text cannot be a title, which is one line of bounded length, or None."""
    if not title.strip():
        return "a task needs a title"
    bad = next((char for char in title if unicodedata.category(char) in _NOT_IN_A_LINE), None)
    if bad is not None:
        return f"a title is one line of text: it contains {bad!a}"
    if len(title) > MAX_TITLE_LENGTH:
        return f"the title has {len(title)} characters, more than {MAX_TITLE_LENGTH}: use the description"
    return None


def agent_fault(name: str | None) -> str | None:
    """Return why a task cannot name an agent, or None; without a name it is the configured one."""
    return None if name in (None, *AGENT_NAMES) else f"{name!a} is none of {', '.join(AGENT_NAMES)}"


def model_fault(name: str | None) -> str | None:
    return None if name is None or re.fullmatch(MODEL_NAME, name) else f"{name!a} is no name of a model"


def check_fields(before: TaskFields | None, after: TaskFields) -> None:
    """Reject invalid changes: a title of several lines, a blank criterion. Old values may stay.

    Raises RequestError.
    """
    changed = FIELD_NAMES if before is None else changed_fields(before, after)
    fault = title_fault(after.title) if "title" in changed else None
    if fault is not None:
        raise RequestError(fault, hint="nothing was changed")
    if "agent" in changed and (fault := agent_fault(after.agent)) is not None:
        raise RequestError(fault, hint="nothing was changed")
    if "model" in changed and (fault := model_fault(after.model)) is not None:
        raise RequestError(fault, hint="nothing was changed")
    if "acceptance_criteria" in changed and not all(text.strip() for text in after.acceptance_criteria):
        raise RequestError("an acceptance criterion is empty", hint="nothing was changed")


class FieldConflictError(RequestError):
    """Two people changed the same fields; ``merged`` has the caller's values, ``theirs`` the others'."""

    def __init__(self, names: tuple[str, ...], merged: TaskFields, theirs: TaskFields) -> None:
        labels = ", ".join(FIELD_NAMES[name] for name in names)
        super().__init__(f"changed by someone else meanwhile: {labels}", hint="nothing was changed")
        self.names = names
        self.merged = merged
        self.theirs = theirs


def merge_fields(base: TaskFields, mine: TaskFields, theirs: TaskFields) -> TaskFields:
    """Merge two people's changes of ``base`` field by field. Raises FieldConflictError."""
    values = {}
    conflicts = []
    for name in FIELD_NAMES:
        old, wanted, other = (getattr(fields, name) for fields in (base, mine, theirs))
        values[name] = other if wanted == old else wanted
        if wanted not in (old, other) and other != old:
            conflicts.append(name)
    merged = TaskFields(**values)
    if conflicts:
        raise FieldConflictError(tuple(conflicts), merged, theirs)
    return merged
