"""Which stories the suite takes, and which of their variants; with BLACKBIRD_EVERY_STEP all.

Of a story marked ``sampled`` it takes some variants from all over. One marked ``exhaustive`` it leaves out:
it takes a third of a second of processor time or more, and others stand for it.
"""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeVar

import pytest

T = TypeVar("T")
# Read before the tests are sealed.
EVERY_STEP = bool(os.environ.get("BLACKBIRD_EVERY_STEP"))
# Whoever writes the golden files writes all of them.
_TAKES_ALL = EVERY_STEP or bool(os.environ.get("BLACKBIRD_GOLDEN_UPDATE"))


def spread(cases: Sequence[T], usual: int) -> Sequence[T]:
    """Return as many cases as are usual, at even distances from the first on."""
    return [cases[number * len(cases) // usual] for number in range(min(usual, len(cases)))]


def variants(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the variants of each story."""
    stories: defaultdict[tuple[object, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        stories[item.path, getattr(item, "originalname", item.name)].append(item)
    return list(stories.values())


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the suite does not take, unless the command line names tests or a mark."""
    is_selected = any(map(config.getoption, ("keyword", "markexpr")))
    if _TAKES_ALL or is_selected or any("::" in path for path in config.args):
        return
    left: set[pytest.Item] = set()
    for story in variants(items):
        mark = story[0].get_closest_marker("sampled")
        if mark is not None:
            left |= {*story} - {*spread(story, mark.args[0])}
        left.update(item for item in story if item.get_closest_marker("exhaustive"))
    if left:
        config.hook.pytest_deselected(items=sorted(left, key=lambda item: item.nodeid))
        items[:] = [item for item in items if item not in left]
