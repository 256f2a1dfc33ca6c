"""Documents of models with hostile text wherever text can be chosen freely."""

import types
import typing
from collections.abc import Iterator
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.run.file_form import OURS, our_fields
from git_blackbird.model.run.findings import MergedReview, ReviewResult
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.summary import Trees
from tests.records import kind_of

STAMP = "2026-01-02T03:04:05Z"
# Runs are in its order, and those without one are not read.
_TIMES = frozenset({"started_at"})
# They are stored as they are, whatever model they are of.
_STORED_AS: dict[tuple[type[BaseModel], str], Any] = {
    (Run, "merged_review"): MergedReview,
    (Run, "review_result"): ReviewResult,
}


def values_of(kind: Any, text: str) -> Iterator[object]:
    """Hostile values of a type as it is in a file; none where a text cannot be chosen freely."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        yield from values_of(inside[0], text)
    elif origin in {typing.Union, types.UnionType}:
        for one in inside:
            yield from values_of(one, text)
    elif origin in {tuple, list}:
        yield from ([value] for value in values_of(inside[0], text))
    elif origin is dict:
        yield from ({text: value} for value in (*values_of(inside[1], text), 1.0) if inside[1] is not float)
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from documents(kind, text)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        return
    elif kind is str:
        yield text


def documents(model: type[BaseModel], text: str) -> Iterator[dict[str, object]]:
    """Objects of a model with one hostile text each, in each of its fields, at every depth."""
    for name, field in model.model_fields.items():
        if name in _TIMES or name == "unknown":
            continue
        for value in values_of(_STORED_AS.get((model, name), kind_of(field)), text):
            key = field.alias or name
            if model is Run:
                yield {OURS: {key: value}} if name in our_fields(Run) else {key: value}
            else:
                yield {**needed(model, name), key: value}


def needed(model: type[BaseModel], but: str) -> dict[str, object]:
    """What a model requires beside one of its fields."""
    found: dict[str, object] = {}
    for name, field in model.model_fields.items():
        if name != but and typing.get_origin(kind_of(field)) is typing.Literal:
            found[name] = field.get_default()
        elif field.is_required() and name != but:
            found[field.alias or name] = next(iter(plain(kind_of(field))))
    return found


def plain(kind: Any) -> Iterator[object]:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if kind in {ObjectId, Trees}:
        yield "0" * 40 if kind == ObjectId else {"base": "0" * 40, "head": "0" * 40}
    elif origin is typing.Annotated:
        yield from plain(inside[0])
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield next(iter(kind)).value
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield needed(kind, "")
    elif kind is int:
        yield 1
    elif kind is bool:
        yield True
    else:
        yield "plain" if origin is None else []


def record(task: str, run: str, fields: dict[str, object]) -> dict[str, object]:
    """A record of a run with these fields."""
    whole: dict[str, object] = {"id": run, "taskId": task, "startedAt": STAMP, "completedAt": STAMP}
    return {**whole, "status": "waiting_user", "provider": "command", **fields}


def is_record(fields: dict[str, object]) -> bool:
    """Whether a record may have each of these fields: ids, for one, are refused where they are none."""
    try:
        Run.from_value(record("a", "01a2000000000001", fields))
    except ValidationError:
        return False
    return True


def run_fields(text: str) -> dict[str, object]:
    """Fields of one record with a hostile text in each of them, at every depth."""
    found: dict[str, object] = {}
    for document in filter(is_record, documents(Run, text)):
        wider = typing.cast("dict[str, object]", _merged(found, document, text))
        found = wider if is_record(wider) else {**found, **document}
    return found


def states(text: str) -> dict[str, dict[str, object]]:
    """Such fields for each state of a run, without those that hide others where they are set."""
    fields = run_fields(text)
    own = typing.cast("dict[str, Any]", fields["blackbird"])
    judged = {"evidence": own.pop("evidence"), "merged_review": own.pop("merged_review"), "review_round": 1}
    own.pop("review_state", None)
    hiding = ("superseded_at", "superseded_by", "undone", "worktree", "landing", "moving", "process")
    over = {name: own.pop(name, None) for name in hiding}
    summary = typing.cast("dict[str, object]", fields["review_summary"])
    whole = {**fields, "review_summary": {name: summary[name] for name in summary if name != "minimal"}}
    due = {"status": "success", "decision_required": True, "decision_state": "pending"}

    def known(outcome: str) -> dict[str, object]:
        checks = judged["evidence"]["checks"]
        return {**judged["evidence"], "checks": [{**check, "outcome": outcome} for check in checks]}

    blocked = {"state": "blocked", "reason": text, "evidence": known("failed_before")}

    def ours(**parts: object) -> dict[str, object]:
        return {"blackbird": {**own, **parts}}

    def checked(outcome: str) -> dict[str, object]:
        return ours(**{**judged, "evidence": known(outcome)})

    unchecked = ours(**{**judged, "evidence": known("broken")}, escalated=True)
    asking = ours(answers=[])
    return {
        "pending": {**whole, **due, **checked("failed")},
        "unchecked": {**fields, **due, **unchecked},
        "blocked": {**whole, **due, **ours(landing=blocked, worktree={"path": text})},
        "approved": {
            **whole,
            "status": "success",
            "decision_state": "approved_continue",
            **checked("passed"),
        },
        "requested": {
            **whole,
            "status": "success",
            "decision_state": "changes_requested",
            **checked("passed"),
        },
        "asking": {**fields, "status": "waiting_user", "provider_session_ref": "a-session", **asking},
        "failed": {**fields, "status": "failed"},
        "paused": {**fields, "status": "paused"},
        "over": {
            **fields,
            "status": "success",
            **ours(**{**over, "landing": None, "moving": None, "process": None}),
        },
    }


def task_fields(text: str) -> dict[str, object]:
    """Fields of a task in the plan with a hostile text in each of them."""
    texts: dict[str, object] = dict.fromkeys(("title", "description", "prompt", "notes"), text)
    return {**texts, "acceptanceCriteria": [text, text]}


def _merged(one: object, other: object, text: str) -> object:
    """Both of two values where they have room beside each other, and otherwise the hostile one."""
    if isinstance(one, dict) and isinstance(other, dict):
        both = {name: _merged(one[name], other[name], text) for name in one.keys() & other.keys()}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(value for value in other if value not in one)]
    return one if one == text else other
