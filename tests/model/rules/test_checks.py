"""Which verdict of a check leads to what, as one table."""

import pytest

from git_blackbird.model.change.stages import CheckFollowUp, after_check, after_merged_check
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.parts import LandingBlocked, LandingDue
from git_blackbird.model.run.states import CheckOutcome, DecisionState
from tests.model.building import run

GO, FIX, ASK = CheckFollowUp.PROCEED, CheckFollowUp.FIX, CheckFollowUp.ASK
# Of a change alone in each mode; of one merged: undecided, and approved with one of these known.
TABLE = {
    CheckOutcome.PASSED: ((GO, GO), (GO, GO, GO, GO, GO)),
    CheckOutcome.FLAKY: ((GO, GO), (GO, GO, GO, GO, GO)),
    CheckOutcome.FAILED: ((GO, FIX), (FIX, GO, FIX, GO, FIX)),
    CheckOutcome.FAILED_BEFORE: ((GO, ASK), (ASK, GO, GO, GO, ASK)),
    CheckOutcome.WEAKENED: ((GO, ASK), (ASK, GO, ASK, GO, GO)),
    CheckOutcome.BROKEN: ((GO, ASK), (ASK, GO, ASK, GO, ASK)),
    CheckOutcome.DUE: ((GO, GO), (GO, GO, GO, GO, GO)),
    CheckOutcome.NOT_RUN: ((GO, ASK), (ASK, GO, ASK, GO, ASK)),
}
KNOWN = (CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE, CheckOutcome.BROKEN, CheckOutcome.WEAKENED)


def known_as(outcome: CheckOutcome) -> Evidence:
    return Evidence(checks=(CheckResult(outcome=outcome),))


@pytest.mark.parametrize("outcome", CheckOutcome)
def test_each_verdict_leads_to_one_thing(outcome: CheckOutcome) -> None:
    evidence = known_as(outcome)
    alone, (undecided, *approved) = TABLE[outcome]
    assert tuple(after_check(evidence, mode) for mode in ("show", "gate")) == alone
    for known, expected in zip(KNOWN, approved, strict=True):
        before = known_as(known)
        seen_alone = run().updated(evidence=before, landing=LandingDue())
        seen_merged = run().updated(landing=LandingBlocked(reason="red", evidence=before))
        for seen in (seen_alone, seen_merged):
            assert after_merged_check(evidence, seen) is undecided
            assert (
                after_merged_check(evidence, seen.updated(decision_state=DecisionState.APPROVED_QUIT))
                is expected
            )


def test_no_check_stops_nothing_and_passes_nothing() -> None:
    assert after_check(None, "gate") is GO
    # None is for the paths of the change.
    assert after_check(Evidence(), "gate") is after_merged_check(Evidence(), run()) is GO
    assert (Evidence().has_passed, Evidence().outcome) == (False, CheckOutcome.NOT_RUN)
