"""Every combination of a run's fields that the program can write and that what follows from it depends on."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    VERBS,
    CheckOutcome,
    DecisionState,
    LandingState,
    ReviewState,
    RunStatus,
    Verb,
)
from tests.model.building import STAMP, run

_AT_WORK = frozenset({RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING_USER})
_OPEN = frozenset({DecisionState.PENDING, DecisionState.CHANGES_REQUESTED})
_CHECKS = {
    None: None,
    "due": CheckResult(outcome=CheckOutcome.DUE),
    "failed": CheckResult(outcome=CheckOutcome.FAILED),
}
_AXES: dict[str, tuple[Any, ...]] = {
    "status": tuple(RunStatus),
    "decision": (None, *DecisionState),
    "landing": (None, *LandingState),
    "check": tuple(_CHECKS),
    "reviews": (None, *ReviewState),
    "undone": (None, True),
    "moving": (None, *(verb for verb in Verb if VERBS[verb].command)),
    "worktree": (None, True),
}


def writable_runs() -> Iterator[tuple[str, Run]]:
    """Yield each such run with its fields in words."""
    for words, facts in writable_facts():
        yield words, run(1, **facts)


def writable_facts() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the facts of each such run with its fields in words."""
    for values in product(*_AXES.values()):
        fields = {name: value for name, value in zip(_AXES, values, strict=True) if value is not None}
        if _is_writable(**fields):
            yield _words(fields), _facts(**fields)


def _is_writable(  # noqa: PLR0911  # a list of what excludes what
    status: RunStatus,
    decision: DecisionState | None = None,
    landing: LandingState | None = None,
    check: str | None = None,
    reviews: ReviewState | None = None,
    moving: Verb | None = None,
    *,
    undone: bool = False,
    worktree: bool = False,
) -> bool:
    is_due = check == "due" or reviews is ReviewState.DUE
    begun = moving is Verb.LAND
    is_taken_back = undone or (moving is not None and not begun)
    if status in _AT_WORK:
        return not (decision or landing or check or reviews or is_taken_back or begun)
    if landing and not worktree:
        return False
    if begun and landing not in {LandingState.DUE, LandingState.BLOCKED}:
        return False
    if status is RunStatus.FAILED and (check or reviews):
        return False
    if begun and decision is DecisionState.CHANGES_REQUESTED:
        return False
    if is_due and (decision or is_taken_back or begun):
        return False
    if decision in _OPEN and is_taken_back:
        return False
    if (
        decision in {DecisionState.CHANGES_REQUESTED, DecisionState.REJECTED}
        and landing is LandingState.LANDED
    ):
        return False
    if landing is LandingState.BLOCKED and decision is None:
        return False
    return not (undone and landing in {LandingState.DUE, LandingState.BLOCKED})


def _facts(status: RunStatus, **fields: Any) -> dict[str, Any]:
    landing, decision = fields.get("landing"), fields.get("decision")
    is_blocked = landing is LandingState.BLOCKED
    is_uncommitted = landing is LandingState.LANDED and decision is DecisionState.PENDING
    return {
        "status": status,
        "decision_state": fields.get("decision"),
        "terminal_reason": "rejected" if fields.get("decision") is DecisionState.REJECTED else None,
        "landing": fields.get("landing"),
        "landing_reason": "it was refused" if is_blocked else None,
        "uncommitted": "it was refused" if is_uncommitted else None,
        "check": _CHECKS[fields.get("check")],
        "review_state": fields.get("reviews"),
        "undone_at": STAMP if fields.get("undone") else None,
        "moving": fields.get("moving"),
        "moving_trees": {"base": "1" * 40, "head": "2" * 40} if fields.get("moving") is Verb.LAND else None,
        "worktree": "/w" if fields.get("worktree") else None,
    }


def _words(fields: dict[str, Any]) -> str:
    status, *others = fields.items()
    words = (name if value is True else f"{name} {value}" for name, value in others)
    return ", ".join((str(status[1]), *words))
