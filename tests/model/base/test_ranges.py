"""Numbers of lines as text."""

from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.base.ranges import parse_ranges, render_ranges


@given(st.frozensets(st.integers(1, 9_999_999)))
def test_numbers_are_the_same_as_text(numbers: frozenset[int]) -> None:
    assert parse_ranges(render_ranges(numbers)) == numbers


def test_text_is_short_and_what_is_no_number_is_left_out() -> None:
    assert render_ranges([5, 3, 4, 9, 11, 10]) == "3-5,9-11"
    assert parse_ranges("3-4,x,-2,7-,9") == {3, 4, 9}
