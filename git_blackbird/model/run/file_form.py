"""How a record stands in its file: fields of the Go program on top, ours flat in ``blackbird``.

A file may have been written by an earlier version, with ours in groups, or by a later one: what is unknown in
it, on top or in ``blackbird``, is written again as it was.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import AliasChoices, AliasPath
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import from_json, to_json

from git_blackbird.model.base.record import Record, is_empty
from git_blackbird.model.run.states import Verb

R = TypeVar("R", bound=Record)

OURS = "blackbird"
GO_FIELDS = (
    *("id", "taskId", "run_type", "provider", "provider_session_ref", "startedAt", "completedAt", "status"),
    *("exitCode", "stdout", "stderr", "context", "error", "decision_required", "decision_state"),
    *("decision_requested_at", "decision_resolved_at", "decision_feedback", "review_summary"),
    *("parent_review_passed", "parent_review_resume_task_ids", "parent_review_feedback"),
    *("parent_review_results", "parent_review_completion_signature"),
)
"""The fields that the Go program has, in its order."""

# Two of ours have been there from the first.
_ON_TOP = frozenset({*GO_FIELDS, "repo_root", "last_completion_status"})

# Where our fields were before they were flat: by group, each name there and the field that it is now.
_GROUPS: Mapping[str, Mapping[str, str]] = {
    "superseded": {"at": "superseded_at", "by": "superseded_by"},
    "said": {
        "prompt": "prompt",
        "message": "message",
        "told": "messages_while_working",
        "questions": "questions",
        "answers": "answers",
        "rulings": "rulings",
        "by_hand": "by_hand",
    },
    "agent": {
        "version": "agent_version",
        "model": "agent_model",
        "result": "final_text",
        "usage": "usage",
        "cost_usd": "cost_usd",
        "raw_totals": "raw_totals",
    },
    "logs": {"not_kept": "unlogged_bytes", "tail_of": "printed_bytes", "redacted": "masked_secrets"},
    "heads": {
        "branch": "start_branch",
        "commit": "start_commit",
        "log": "reflog_size",
        "end_commit": "end_commit",
        "end_branch": "end_branch",
    },
    "snapshots": {
        "base": "base_tree",
        "head": "head_tree",
        "submodules": "submodule_digests",
        "late": "head_taken_late",
    },
    "edits": {"plan": "plan_edits", "config": "config_edits"},
    "reviewed": {"round": "review_round", "merged": "merged_review"},
    "opinion": {"run": "reviewed_run", "round": "review_round", "result": "review_result"},
    "decision": {
        "by": "requested_by",
        "shown": "shown",
        "in_part": "decided_in_part",
        "approved_on": "approved_on",
        "escalated": "escalated",
        "comments": "comments",
        "hook_output": "hook_output",
    },
}
_RENAMED = {
    "result": "final_text",
    "review": "review_state",
    "turn": "landing_slot",
    "check": "evidence",
}


def with_moving(data: bytes) -> bytes:
    """Return the file of a record in which a move that had begun was two parts, with one instead."""
    if b'"undoing"' not in data and b'"begun"' not in data:
        return data
    record = from_json(data)
    if not isinstance(record, dict) or not isinstance(ours := record.get(OURS), dict):
        return data
    landing, undoing = ours.get("landing"), ours.pop("undoing", None)
    begun = landing.pop("begun", None) if isinstance(landing, dict) else None
    if isinstance(begun, dict):
        ours["moving"] = {"verb": Verb.LAND, **begun}
    match undoing:
        case {"verb": Verb.REDO, "trees": {"base": base, "head": head}}:
            ours["moving"] = {"verb": Verb.REDO, "trees": {"base": head, "head": base}}
        case dict():
            ours["moving"] = undoing
        case _:
            return to_json(record)
    if isinstance(landing, dict) and isinstance(begun, dict):
        at = record.get("decision_resolved_at") or record.get("completedAt")
        ours["landing"] = {"state": "landed", "at": at, "merge": begun, "check": landing.get("check")}
    return to_json(record)


def flat_in_file(kind: type[R]) -> type[R]:
    """Have our fields of a record read from ``blackbird``, or where they were before; as a decorator.

    Its schema is not built by then.
    """
    former: dict[str, list[AliasPath]] = defaultdict(list)
    for old, field in _RENAMED.items():
        former[field].append(AliasPath(OURS, old))
    for group, names in _GROUPS.items():
        for old, field in names.items():
            former[field].append(AliasPath(OURS, group, old))
    for name in our_fields(kind):
        kind.model_fields[name].validation_alias = AliasChoices(AliasPath(OURS, name), *former[name])
    return kind


@cache
def our_fields(kind: type[Record]) -> frozenset[str]:
    fields = kind.model_fields.items()
    return frozenset(name for name, info in fields if (info.alias or name) not in {*_ON_TOP, OURS})


def unknown_in(ours: Mapping[str, Any], fields: Collection[str]) -> dict[str, Any]:
    """Return what of ``blackbird`` in a file is read into none of these fields."""
    unknown = {name: value for name, value in ours.items() if name not in fields and name not in _RENAMED}
    for group in _GROUPS.keys() & unknown.keys():
        if isinstance(former := unknown.pop(group), dict):
            former = {name: value for name, value in former.items() if name not in _GROUPS[group]}
        if former:
            unknown[group] = former
    return unknown


def as_in_file(fields: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record that have a value as a file has them; ours are left out if empty."""
    on_top = {name: value for name, value in fields.items() if name in _ON_TOP}
    ours = {name: value for name, value in fields.items() if name not in _ON_TOP and not is_empty(value)}
    return {**on_top, OURS: {**ours, **unknown}} if ours or unknown else on_top


def schema_as_in_file(schema: JsonSchemaValue) -> JsonSchemaValue:
    fields = schema["properties"].items()
    on_top = {name: each for name, each in fields if name in _ON_TOP}
    ours = {name: each for name, each in fields if name not in {*_ON_TOP, OURS}}
    part = {"type": "object", "properties": ours, "additionalProperties": True}
    return {**schema, "properties": {**on_top, OURS: part}}
