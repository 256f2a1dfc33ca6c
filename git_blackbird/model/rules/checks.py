"""Who acts on the verdict of the user's check on a change, alone or merged with the user's worktree."""

from collections.abc import Mapping
from enum import StrEnum

from git_blackbird.model.run.check import CheckOutcome, CheckResult
from git_blackbird.model.run.parts import LandingBlocked
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS

_RED_BASE = "the check fails without the change as well, so it does not say whether the change is good"


class CheckFollowUp(StrEnum):
    """Who acts after a check: the flow continues, the session that made the change, or a person."""

    PROCEED = "proceed"
    FIX = "fix"
    ASK = "ask"


_FOLLOW_UPS: Mapping[CheckOutcome, CheckFollowUp] = {
    CheckOutcome.DUE: CheckFollowUp.PROCEED,
    CheckOutcome.PASSED: CheckFollowUp.PROCEED,
    CheckOutcome.FAILED: CheckFollowUp.FIX,
    CheckOutcome.FAILED_BEFORE: CheckFollowUp.ASK,
    CheckOutcome.BROKEN: CheckFollowUp.ASK,
}


def after_check(check: CheckResult | None, mode: str) -> CheckFollowUp:
    """Return who acts on the verdict on a change alone; ``mode`` is the value of ``check.mode``."""
    if check is None or mode == "show":
        return CheckFollowUp.PROCEED
    return _FOLLOW_UPS[check.outcome]


def after_merged_check(check: CheckResult, run: Run) -> CheckFollowUp:
    """Return who acts on the verdict on the merged change of a run; nobody on one that was accepted."""
    if check.outcome in accepted_outcomes(run):
        return CheckFollowUp.PROCEED
    return _FOLLOW_UPS[check.outcome]


def why_asked(check: CheckResult) -> str:
    """Return why a person is to act on a verdict that says nothing of the change."""
    return f"the check is broken: {check.reason}" if check.outcome is CheckOutcome.BROKEN else _RED_BASE


def accepted_outcomes(run: Run) -> frozenset[CheckOutcome]:
    """Return the verdicts with which a person has approved the change of a run, alone or merged.

    Who accepts that it fails, or that nothing is known, accepts every verdict; who accepts that it fails
    without the change as well does not accept that it fails because of the change.
    """
    if run.decision_state not in APPROVALS:
        return frozenset()
    merged = run.landing_check if isinstance(run.landing, LandingBlocked) else None
    known = frozenset(check.outcome for check in (run.check, merged) if check is not None)
    return frozenset(CheckOutcome) if known & {CheckOutcome.FAILED, CheckOutcome.BROKEN} else known
