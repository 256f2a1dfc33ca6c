"""The choices of a checkpoint, typed as a number or a label."""

import pytest

from git_blackbird.model.change.decision import SPECS, STATE_OF, VIEWS, parse_choice
from git_blackbird.model.run.states import Choice

CHOICES = [SPECS[choice] for choice in (Choice.APPROVE_CONTINUE, Choice.APPROVE_QUIT, Choice.REQUEST_CHANGES)]


@pytest.mark.parametrize("number", range(1, len(CHOICES) + 1))
def test_each_choice_by_number_and_by_label_in_any_case(number: int) -> None:
    choice, label = CHOICES[number - 1].choice, CHOICES[number - 1].label
    for text in (str(number), f" {number}\n", label, label.upper(), f"  {label.lower()}\t"):
        assert parse_choice(text, CHOICES) == choice


@pytest.mark.parametrize(
    "text", ["", "0", "6", "-1", "1.", "01", "approve", "yes", "y", "\uff11", "Approve  and quit"]
)
def test_what_is_no_choice(text: str) -> None:
    assert parse_choice(text, CHOICES) is None


def test_every_choice_but_looking_decides() -> None:
    assert set(STATE_OF) == set(Choice) - VIEWS - {Choice.REVIEW_AGAIN, Choice.RETRY}
