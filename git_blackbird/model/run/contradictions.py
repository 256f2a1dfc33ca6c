"""What the parts of a record say together that nothing which happens can lead to."""

from git_blackbird.model.run.check import CheckOutcome
from git_blackbird.model.run.parts import LandingBlocked, LandingDue, Own
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus

_NOT_ENDED, _FAILED, _PENDING = "it has not ended", "it failed", "a decision on it is pending"
_LANDS, _JUDGED = "its change lands", "its change is checked or reviewed"
_BLOCKED, _NO_DECISION = "its change cannot land", "no decision on it was asked for"
_TAKEN_BACK, _UNDONE, _NOT_LANDED = "its change is taken back", "its change was taken back", "it is to land"
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
)


def find_contradiction(status: RunStatus, decision: DecisionState | None, own: Own) -> tuple[str, str] | None:
    """Return two statements of a record that exclude each other; None without any."""
    is_check_due = own.check is not None and own.check.outcome is CheckOutcome.DUE
    says = {
        _NOT_ENDED: status in {RunStatus.RUNNING, RunStatus.PAUSED, RunStatus.WAITING_USER},
        _FAILED: status is RunStatus.FAILED,
        _JUDGED: bool(own.check or own.review or own.reviewed),
        _DUE: is_check_due or own.review is ReviewState.DUE,
        _PENDING: decision is DecisionState.PENDING,
        _NO_DECISION: decision is None,
        _LANDS: own.landing is not None,
        _BLOCKED: isinstance(own.landing, LandingBlocked),
        _NOT_LANDED: isinstance(own.landing, LandingDue | LandingBlocked),
        _IN_PLACE: own.worktree is None,
        _TAKEN_BACK: bool(own.undone or own.undoing),
        _UNDONE: own.undone is not None,
    }
    return next((pair for pair in _EXCLUDED if all(says[one] for one in pair)), None)
