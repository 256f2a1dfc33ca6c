"""Which verdict of a check leads to what, as one table."""

import pytest

from git_blackbird.model.change.stages import CheckFollowUp, after_check, after_merged_check
from git_blackbird.model.run.parts import CheckOutcome, CheckResult, LandingBlocked, LandingDue
from git_blackbird.model.run.states import DecisionState
from tests.model.building import run

GO, FIX, ASK = CheckFollowUp.PROCEED, CheckFollowUp.FIX, CheckFollowUp.ASK
# Of a change alone in each mode; of one merged: undecided, and approved with one of these known.
TABLE = {
    CheckOutcome.PASSED: ((GO, GO), (GO, GO, GO, GO)),
    CheckOutcome.FLAKY: ((GO, GO), (GO, GO, GO, GO)),
    CheckOutcome.FAILED: ((GO, FIX), (FIX, GO, FIX, GO)),
    CheckOutcome.FAILED_BEFORE: ((GO, ASK), (ASK, GO, GO, GO)),
    CheckOutcome.BROKEN: ((GO, ASK), (ASK, GO, ASK, GO)),
    CheckOutcome.DUE: ((GO, GO), (GO, GO, GO, GO)),
}
KNOWN = (CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE, CheckOutcome.BROKEN)


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_each_verdict_leads_to_one_thing(outcome: CheckOutcome) -> None:
    check = CheckResult(outcome=outcome)
    alone, (undecided, *approved) = TABLE[outcome]
    assert tuple(after_check(check, mode) for mode in ("show", "gate")) == alone
    for known, expected in zip(KNOWN, approved, strict=True):
        verdict = CheckResult(outcome=known)
        seen_alone = run().updated(check=verdict, landing=LandingDue())
        seen_merged = run().updated(landing=LandingBlocked(reason="red", check=verdict))
        for seen in (seen_alone, seen_merged):
            assert after_merged_check(check, seen) is undecided
            assert (
                after_merged_check(check, seen.updated(decision_state=DecisionState.APPROVED_QUIT))
                is expected
            )


def test_no_check_stops_nothing() -> None:
    assert after_check(None, "gate") is GO
