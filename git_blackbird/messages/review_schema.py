"""The JSON schema of a parent review's answer, in the strict subset that all providers accept (spec 3)."""

from collections.abc import Iterable
from typing import Any

from git_blackbird.model.ids import TaskId
from git_blackbird.model.review import ChildStatus

# Providers bound the values of an enum, and a schema may have to fit into one argument of a command.
MAX_ENUM_IDS = 250
MAX_ENUM_CHARACTERS = 10_000

_TEXT = {"type": "string"}


def build_review_schema(child_ids: Iterable[TaskId]) -> dict[str, Any]:
    """Build the schema of one parent's review: the same children give the same schema, in any order.

    Everything is required, as strict modes want it. A parent with more children than an enum may have gets
    plain texts for their ids; ``parse_review_answer`` checks them in any case.
    """
    child = _child(sorted(set(child_ids)))
    result = _object(
        taskId=child,
        status={"type": "string", "enum": [status.value for status in ChildStatus]},
        feedback=_told({"type": ["string", "null"]}, "What is wrong with it; null when it passed."),
    )
    return _object(
        passed=_told({"type": "boolean"}, "Whether the acceptance criteria are met."),
        resumeTaskIds=_told(_list(child), "The tasks to be worked on again; empty when passed."),
        feedbackForResume=_told(_TEXT, "What must be fixed; empty when passed."),
        reviewResults=_told(_list(result), "One entry for each child."),
    )


def _child(ids: list[TaskId]) -> dict[str, Any]:
    is_bounded = len(ids) <= MAX_ENUM_IDS and sum(map(len, ids)) <= MAX_ENUM_CHARACTERS
    return {**_TEXT, "enum": ids} if ids and is_bounded else _TEXT


def _told(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {**schema, "description": description}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
