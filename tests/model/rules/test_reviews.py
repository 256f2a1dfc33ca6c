"""Rounds: what the reviewers and the check send back is counted apart, and anew after a person's request."""

import pytest

from git_blackbird.model.change.change import Change
from git_blackbird.model.run.states import DecisionState, Requester
from tests.model.building import history, run

REQUESTED = DecisionState.CHANGES_REQUESTED


@pytest.mark.parametrize(
    ("requesters", "checks", "round_number"),
    [
        ((), 0, 1),
        ((Requester.CHECK,), 1, 1),
        ((Requester.REVIEWERS, Requester.CHECK), 1, 2),
        ((Requester.CHECK, Requester.REVIEWERS, Requester.CHECK), 2, 2),
        ((Requester.CHECK, Requester.REVIEWERS, None), 0, 1),
        ((Requester.CHECK, None, Requester.CHECK, Requester.REVIEWERS), 1, 2),
    ],
)
def test_rounds_are_counted_apart(requesters: tuple[str | None, ...], checks: int, round_number: int) -> None:
    runs = [run(number, decision_state=REQUESTED, requested_by=by) for number, by in enumerate(requesters, 1)]
    latest = run(9)
    change = Change.of(history(*runs, latest))
    assert change.count_sent_back(Requester.CHECK) == checks
    assert change.review_round == round_number
