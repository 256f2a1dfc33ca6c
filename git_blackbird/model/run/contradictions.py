"""Combinations of a record's fields that nothing can lead to."""

from git_blackbird.model.run.file_form import OURS
from git_blackbird.model.run.parts import LandingBlocked, LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, Verb

_NOT_ENDED, _FAILED, _PENDING = "it has not ended", "it failed", "a decision on it is pending"
_LANDS, _JUDGED = "its change lands", "its change is checked or reviewed"
_BLOCKED, _NO_DECISION = "its change cannot land", "no decision on it was asked for"
_TAKEN_BACK, _UNDONE, _NOT_LANDED = "its change is taken back", "its change was taken back", "it is to land"
_HALF_LANDED, _IS_NOT_TO_LAND = "its change is half landed", "its change is not to land"
_DUE, _IN_PLACE = "its check or reviews are due", "it had no worktree of its own"
_EXCLUDED = (
    (_NOT_ENDED, _JUDGED),
    (_NOT_ENDED, _LANDS),
    (_FAILED, _JUDGED),
    (_BLOCKED, _IN_PLACE),
    (_PENDING, _TAKEN_BACK),
    (_PENDING, _DUE),
    (_BLOCKED, _NO_DECISION),
    (_UNDONE, _NOT_LANDED),
    (_HALF_LANDED, _IS_NOT_TO_LAND),
)
# Fields, and what a record with them has too.
_NEEDED = {
    "superseded_at": "superseded_by",
    "superseded_by": "superseded_at",
    "head_tree": "base_tree",
    "merged_review": "review_round",
    "reviewed_run": "review_round",
}


def refuse_contradictions(run: Run) -> None:
    """Raise ValueError where two statements of a record exclude each other."""
    is_to_land = isinstance(run.landing, LandingDue | LandingBlocked)
    is_half_landed = run.moving is not None and run.moving.verb is Verb.LAND
    says = {
        _NOT_ENDED: run.status in {RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING_USER},
        _FAILED: run.status is RunStatus.FAILED,
        _JUDGED: bool(run.evidence or run.review_state or run.merged_review),
        _DUE: run.awaits_verdict,
        _PENDING: run.decision_state is DecisionState.PENDING,
        _NO_DECISION: run.decision_state is None,
        _LANDS: run.landing is not None,
        _BLOCKED: isinstance(run.landing, LandingBlocked),
        _NOT_LANDED: is_to_land,
        _HALF_LANDED: is_half_landed,
        _IS_NOT_TO_LAND: not is_to_land or run.decision_state is DecisionState.CHANGES_REQUESTED,
        _IN_PLACE: run.worktree is None,
        _TAKEN_BACK: run.undone is not None or (run.moving is not None and not is_half_landed),
        _UNDONE: run.undone is not None,
    }
    for one, other in _EXCLUDED:
        if says[one] and says[other]:
            raise ValueError(f"the record: it says that {one}, and that {other}")
    for name, needed in _NEEDED.items():
        if getattr(run, name) is not None and getattr(run, needed) is None:
            raise ValueError(f"{OURS}.{needed}: is missing")
