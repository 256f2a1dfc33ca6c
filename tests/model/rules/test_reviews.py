"""Rounds: what the reviewers and the check send back is counted apart, and anew after a person's request."""

import pytest

from git_blackbird.model.entities.run import BY_CHECK, BY_REVIEWERS, DecisionState
from git_blackbird.model.rules.reviews import count_requests, round_of
from tests.model.building import run

REQUESTED = DecisionState.CHANGES_REQUESTED


@pytest.mark.parametrize(
    ("requesters", "checks", "round_number"),
    [
        ((), 0, 1),
        ((BY_CHECK,), 1, 1),
        ((BY_REVIEWERS, BY_CHECK), 1, 2),
        ((BY_CHECK, BY_REVIEWERS, BY_CHECK), 2, 2),
        ((BY_CHECK, BY_REVIEWERS, None), 0, 1),
        ((BY_CHECK, None, BY_CHECK, BY_REVIEWERS), 1, 2),
    ],
)
def test_rounds_are_counted_apart(requesters: tuple[str | None, ...], checks: int, round_number: int) -> None:
    runs = [run(number, decision_state=REQUESTED, requested_by=by) for number, by in enumerate(requesters, 1)]
    latest = run(9)
    assert count_requests([*runs, latest], latest, BY_CHECK) == checks
    assert round_of([*runs, latest], latest) == round_number
