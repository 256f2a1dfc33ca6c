"""A parent's review: its verdict, its subject, and its feedback for leaves."""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from git_blackbird.model.base.ids import CheckedRunId, CheckedTaskId, TaskId
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.plan.plan import Task

_EXCERPT_CHARACTERS = 200
# The Go program writes this for an unset time.
_NO_TIME = "0001-01-01T00:00:00Z"
_SIGNATURE_PREFIX = "parent-review:v1:"
# The Go program's serialization escapes these; its signatures are of those bytes.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class ChildStatus(StrEnum):
    """The status of one child in a verdict."""

    PASSED = "passed"
    FAILED = "failed"


class ChildResult(Record):
    """One child in a verdict; a child that passed has no feedback."""

    task_id: CheckedTaskId
    status: ChildStatus
    feedback: str | None = None


class ParentVerdict(NamedTuple):
    """A valid answer of a parent's reviewer.

    ``resume_task_ids`` are in the order of the plan; they and ``feedback`` are empty exactly if it passed.
    ``results`` has every child of the parent; one is ``failed`` exactly if it is to be resumed.
    """

    passed: bool
    resume_task_ids: tuple[TaskId, ...] = ()
    feedback: str = ""
    results: Mapping[TaskId, ChildResult] = MappingProxyType({})


class Dismissal(Record):
    """A person accepted a parent without a passing verdict: why, when, and who."""

    reason: str
    at: str
    by: str = ""


class Feedback(Record):
    """Pending feedback of a failed review for one leaf, as in its file.

    ``settled_at`` is ours: the leaf is about to be saved as ``done`` with that time, which settles the
    feedback.
    """

    parent_task_id: CheckedTaskId = Field(alias="parentTaskId")
    review_run_id: CheckedRunId = Field(alias="reviewRunId")
    feedback: str
    created_at: str = Field(default=_NO_TIME, alias="createdAt")
    updated_at: str = Field(default=_NO_TIME, alias="updatedAt")
    settled_at: str | None = Field(default=None, alias="settledAt")

    def settled(self, at: str | None) -> "Feedback":
        """Return the feedback as settled at that time, or as pending for None."""
        return self.model_copy(update={"settled_at": at})


def completion_signature(parent: Task, tasks: Mapping[TaskId, Task]) -> str:
    """Return a digest of the children's state that a review is about, as the Go program does.

    Raises ValueError for a child without a valid time.
    """
    from hashlib import sha256  # only a plan with parents to review pays for it

    children = [
        {"childId": child, "completedUnixNano": parse_timestamp(tasks[child].updated_at)}
        for child in sorted(parent.children)
    ]
    content = {"version": 1, "parentTaskId": parent.id, "children": children}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return _SIGNATURE_PREFIX + sha256(text.encode(errors="surrogatepass")).hexdigest()


def excerpt(feedback: str) -> str:
    """Return the beginning of a feedback on one line, at most 200 characters."""
    line = " ".join(feedback.split())
    return line if len(line) <= _EXCERPT_CHARACTERS else f"{line[: _EXCERPT_CHARACTERS - 3]}..."
