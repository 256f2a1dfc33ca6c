"""A parent's review: its verdict, what it was about, and what it leaves owed (spec 0, DESIGN.md 8)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.recorded import Recorded, named
from git_blackbird.model.timestamps import parse_timestamp

_EXCERPT_CHARACTERS = 200
_SIGNATURE_PREFIX = "parent-review:v1:"
# The Go program's serialisation writes these as escapes; its signatures are of those bytes.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


class ChildStatus(StrEnum):
    """What a reviewer says of one child."""

    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class ChildResult(Recorded):
    """One child in a verdict; a child that passed has no feedback."""

    task_id: TaskId
    status: ChildStatus
    feedback: str | None = None


@dataclass(frozen=True)
class Verdict:
    """A valid answer of a parent's reviewer.

    ``resume_task_ids`` are sorted and empty exactly when it passed, as is ``feedback``. ``results`` has every
    child of the parent; one is ``failed`` exactly when it is to be resumed.
    """

    passed: bool
    resume_task_ids: tuple[TaskId, ...] = ()
    feedback: str = ""
    results: Mapping[TaskId, ChildResult] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Dismissal(Recorded):
    """That a person let a parent go without a passing verdict: why, when, and who."""

    reason: str
    at: str
    by: str = ""


@dataclass(frozen=True, kw_only=True)
class Feedback(Recorded):
    """What a failing review left owed to one leaf, as its file keeps it (spec 1, PEER.md 1.4).

    ``settled_at`` is ours: the leaf is about to be saved as ``done`` with that time, and nothing is owed once
    it is.
    """

    parent_task_id: TaskId = field(metadata=named("parentTaskId"))
    review_run_id: RunId = field(metadata=named("reviewRunId"))
    feedback: str
    created_at: str = field(metadata=named("createdAt"))
    updated_at: str = field(metadata=named("updatedAt"))
    settled_at: str | None = field(default=None, metadata=named("settledAt"))


def completion_signature(parent: Task, tasks: Mapping[TaskId, Task]) -> str:
    """Name the state of a parent's children that a review is about, as the Go program does (PEER.md 1.2).

    Raises ValueError for a child without a readable time.
    """
    from hashlib import sha256  # noqa: PLC0415  # only a plan with parents to review pays for it

    children = [
        {"childId": child, "completedUnixNano": parse_timestamp(tasks[child].updated_at)}
        for child in sorted(parent.children)
    ]
    told = {"version": 1, "parentTaskId": parent.id, "children": children}
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return _SIGNATURE_PREFIX + sha256(text.encode(errors="surrogatepass")).hexdigest()


def excerpt(feedback: str) -> str:
    """Give the beginning of a feedback in one line, of at most 200 characters."""
    line = " ".join(feedback.split())
    return line if len(line) <= _EXCERPT_CHARACTERS else f"{line[: _EXCERPT_CHARACTERS - 3]}..."
