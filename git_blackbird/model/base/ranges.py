"""Numbers of lines as text, as in ``3-5,9``."""

import re
from collections.abc import Iterable

_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")


def render_ranges(numbers: Iterable[int]) -> str:
    """Return numbers in order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


def parse_ranges(text: str) -> frozenset[int]:
    """Return the numbers of a text; a part that is none is left out."""
    found = (_RANGE.fullmatch(part) for part in text.split(","))
    ranges = ((int(match[1]), int(match[2] or match[1])) for match in found if match)
    return frozenset(number for first, last in ranges for number in range(first, last + 1))
