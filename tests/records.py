"""Records for tests, from facts in one flat list instead of the parts of a record."""

from collections.abc import Mapping
from typing import Any

from git_blackbird.model.run.fields import RunFields
from git_blackbird.model.run.parts import Own
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import LandingState

STAMP = "2026-01-01T00:00:00Z"
NO_TREES = {"base": "0" * 40, "head": "0" * 40}
# Where a fact is in our parts of a record, if it has another name or place there.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "agent_version": ("agent", "version"),
    "agent_model": ("agent", "model"),
    "result": ("agent", "result"),
    "usage": ("agent", "usage"),
    "cost_usd": ("agent", "cost_usd"),
    "raw_totals": ("agent", "raw_totals"),
    "branch": ("heads", "branch"),
    "head_commit": ("heads", "commit"),
    "end_commit": ("heads", "end_commit"),
    "end_branch": ("heads", "end_branch"),
    "prompt": ("said", "prompt"),
    "message": ("said", "message"),
    "told": ("said", "told"),
    "rulings": ("said", "rulings"),
    "questions": ("said", "questions"),
    "answers": ("said", "answers"),
    "plan_changes": ("edits", "plan"),
    "config_changes": ("edits", "config"),
    "requested_by": ("decision", "by"),
    "shown": ("decision", "shown"),
    "decided_trees": ("decision", "shown"),
    "undo_commit": ("undone", "commit"),
    "not_kept": ("logs", "not_kept"),
    "tail_of": ("logs", "tail_of"),
    "worker": ("process", "worker"),
    "hook_output": ("decision", "hook_output"),
    "review_comments": ("decision", "comments"),
    "base_tree": ("snapshots", "base"),
    "head_tree": ("snapshots", "head"),
    "superseded_at": ("superseded", "at"),
    "superseded_by": ("superseded", "by"),
    "pid": ("process", "pid"),
    "process_identity": ("process", "identity"),
    "worktree": ("worktree", "path"),
    "worktree_base": ("worktree", "base"),
    "home_branch": ("worktree", "home_branch"),
    "undone_at": ("undone", "at"),
    "undo_left": ("undone", "left"),
    "undoing": ("undoing", "verb"),
    "parent_review_dismissed": ("dismissed",),
    "review_state": ("review",),
    "review_round": ("reviewed", "round"),
    "merged_review": ("reviewed", "merged"),
    "reviewed_run": ("opinion", "run"),
    "opinion_round": ("opinion", "round"),
    "review_result": ("opinion", "result"),
    "landing_reason": ("landing", "reason"),
    "landed_at": ("landing", "at"),
    "landing_trees": ("landing", "merge", "trees"),
    "landing_begun": ("landing", "begun", "trees"),
    "landing_check": ("landing", "check"),
    "uncommitted": ("landing", "uncommitted"),
}
# What a part needs beside the facts that were given.
_NEEDED: Mapping[str, Mapping[str, Any]] = {
    "superseded": {"at": STAMP, "by": "retry"},
    "process": {"kind": "local"},
    "undone": {"at": STAMP, "trees": NO_TREES},
    "undoing": {"trees": NO_TREES},
    "reviewed": {"round": 1},
    "opinion": {"round": 1},
}


_GO_FIELDS = {
    name: info.alias or field
    for field, info in RunFields.model_fields.items()
    for name in (field, info.alias or field)
    if field != "own"
}


def run_of(**facts: Any) -> Run:
    """Make a record from the fields of the Go program and facts of ours; None is left out."""
    return Run.from_value(record_of(**facts))


def record_of(**facts: Any) -> dict[str, Any]:
    """Return the value of the file of such a record."""
    fields = {_GO_FIELDS[name]: value for name, value in facts.items() if name in _GO_FIELDS}
    own = _own({name: value for name, value in facts.items() if name not in _GO_FIELDS})
    return {**fields, **({"blackbird": own} if own else {})}


def own_of(**facts: Any) -> Own:
    """Make our parts of a record from facts; None is left out."""
    return Own.from_value(_own(facts))


def _own(facts: Mapping[str, Any]) -> dict[str, Any]:
    own: dict[str, Any] = {}
    if facts.get("cluster") or facts.get("worker"):
        own["process"] = {"kind": "remote"}
    for name, value in facts.items():
        if value is None or name == "cluster":
            continue
        *folders, last = ("landing", "state") if name == "landing" else _PLACES.get(name, (name,))
        part = own
        for folder in folders:
            part = part.setdefault(folder, {})
        part[last] = value
    for name, needed in _NEEDED.items():
        if name in own:
            own[name] = {**needed, **own[name]}
    if "process" in own and "worker" not in own["process"]:
        own["process"] = {"identity": "0", **own["process"]}
    if own.get("landing", {}).get("state") == LandingState.LANDED:
        nothing = {"trees": NO_TREES}
        own["landing"] = {"at": STAMP, "merge": own["landing"].pop("begun", nothing), **own["landing"]}
    return own


def place_of(name: str) -> tuple[str, ...]:
    """Return the names that lead to a fact in the file of a record."""
    return (_GO_FIELDS[name],) if name in _GO_FIELDS else ("blackbird", *_PLACES.get(name, (name,)))


def fact(record: Mapping[str, Any], name: str) -> Any:
    """Return a fact of ours from the value of a record's file; None without it."""
    value: Any = record.get("blackbird", {})
    for part in ("landing", "state") if name == "landing" else _PLACES.get(name, (name,)):
        value = None if value is None else value.get(part)
    return value


def with_facts(record: Mapping[str, Any], **facts: Any) -> dict[str, Any]:
    """Return the value of a record's file with further facts; a part keeps what is not among them."""
    more = record_of(**facts)
    own = dict(record.get("blackbird", {}))
    for name, part in more.pop("blackbird", {}).items():
        is_part = isinstance(part, dict) and isinstance(own.get(name), dict)
        own[name] = {**own[name], **part} if is_part else part
    return {**record, **more, **({"blackbird": own} if own else {})}
