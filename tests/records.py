"""Records for tests, from facts in one flat list, also those in parts of a record."""

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo

from git_blackbird.model.base.record import LateModel
from git_blackbird.model.run.contradictions import refuse_contradictions
from git_blackbird.model.run.file_form import GO_FIELDS
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import LandingState

STAMP = "2026-01-01T00:00:00Z"
NO_TREES = {"base": "0" * 40, "head": "0" * 40}
# Where a fact is in a part of a record, or under which name, if not under its own.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "worker": ("process", "worker"),
    "pid": ("process", "pid"),
    "process_identity": ("process", "identity"),
    "worktree": ("worktree", "path"),
    "worktree_base": ("worktree", "base"),
    "home_branch": ("worktree", "home_branch"),
    "undone_at": ("undone", "at"),
    "undo_left": ("undone", "left"),
    "undo_commit": ("undone", "commit"),
    "moving": ("moving", "verb"),
    "moving_trees": ("moving", "trees"),
    "landing": ("landing", "state"),
    "landing_reason": ("landing", "reason"),
    "landed_at": ("landing", "at"),
    "landing_trees": ("landing", "merge", "trees"),
    "landing_evidence": ("landing", "evidence"),
    "uncommitted": ("landing", "uncommitted"),
}
# A check of the user's alone, by where it is.
_CHECKS = {"check": "evidence", "landing_check": "landing_evidence"}
# What a part needs beside the facts that were given.
_NEEDED: Mapping[str, Mapping[str, Any]] = {
    "process": {"kind": "local"},
    "undone": {"at": STAMP, "trees": NO_TREES},
    "moving": {"trees": NO_TREES},
}
_ON_TOP = {
    name: info.alias or field
    for field, info in Run.model_fields.items()
    for name in (field, info.alias or field)
    if (info.alias or field) in {*GO_FIELDS, "repo_root", "last_completion_status"}
}


def run_of(**facts: Any) -> Run:
    """Make a record from its fields and facts of its parts; None is left out."""
    run = Run.from_value(record_of(**facts))
    refuse_contradictions(run)
    return run


def record_of(**facts: Any) -> dict[str, Any]:
    """Return the value of the file of such a record."""
    for name in _CHECKS.keys() & facts.keys():
        check = facts.pop(name)
        facts[_CHECKS[name]] = None if check is None else {"checks": [check]}
    fields = {_ON_TOP[name]: value for name, value in facts.items() if name in _ON_TOP}
    ours = _ours({name: value for name, value in facts.items() if name not in _ON_TOP})
    return {**fields, **({"blackbird": ours} if ours else {})}


def _ours(facts: Mapping[str, Any]) -> dict[str, Any]:
    ours: dict[str, Any] = {}
    if facts.get("cluster") or facts.get("worker"):
        ours["process"] = {"kind": "remote"}
    for name, value in facts.items():
        if value is None or name == "cluster":
            continue
        *parts, last = _place(name)
        part = ours
        for each in parts:
            part = part.setdefault(each, {})
        part[last] = value
    return _completed(ours)


def _completed(ours: dict[str, Any]) -> dict[str, Any]:
    """Add what a record with these facts has as well."""
    for name, needed in _NEEDED.items():
        if name in ours:
            ours[name] = {**needed, **ours[name]}
    if "process" in ours and "worker" not in ours["process"]:
        ours["process"] = {"identity": "0", **ours["process"]}
    if ours.get("landing", {}).get("state") == LandingState.LANDED:
        ours["landing"] = {"at": STAMP, "merge": {"trees": NO_TREES}, **ours["landing"]}
    if "superseded_by" in ours or "superseded_at" in ours:
        ours = {"superseded_at": STAMP, "superseded_by": "retry", **ours}
    if "merged_review" in ours or "reviewed_run" in ours:
        ours = {"review_round": 1, **ours}
    return ours


def _place(name: str) -> tuple[str, ...]:
    assert name in {*_PLACES, *Run.model_fields, "of_the_future"}, name
    return _PLACES.get(name, (name,))


def place_of(name: str) -> tuple[str, ...]:
    """Return the names that lead to a fact in the file of a record."""
    return (_ON_TOP[name],) if name in _ON_TOP else ("blackbird", *_place(name))


def kind_of(field: FieldInfo) -> Any:
    """Return the type of a field of a record, or the model that is imported for it later."""
    later = (one.imported() for one in field.metadata if isinstance(one, LateModel))
    return next(later, field.annotation)


def fact(record: Mapping[str, Any], name: str) -> Any:
    """Return a fact of ours from the value of a record's file; None without it."""
    if name in _CHECKS:
        evidence = fact(record, _CHECKS[name])
        return None if evidence is None else evidence["checks"][0]
    value: Any = record.get("blackbird", {})
    for part in _place(name):
        value = None if value is None else value.get(part)
    return value


def with_facts(record: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Return the value of a record's file with further facts; a part keeps what is not among them."""
    more = record_of(**facts)
    ours = dict(record.get("blackbird", {}))
    for name, part in more.pop("blackbird", {}).items():
        is_part = isinstance(part, dict) and isinstance(ours.get(name), dict)
        ours[name] = {**ours[name], **part} if is_part else part
    return {**record, **more, **({"blackbird": ours} if ours else {})}
