"""Which variants of an attack the suite takes: every story, but only some of its parameters.

``BLACKBIRD_EVERY_STEP=1`` takes all of them.
"""

import os
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
# Of a story with many variants every sixth is taken, with some every third, else every second.
MANY, SOME = 6, 3


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("BLACKBIRD_EVERY_STEP") or config.getoption("keyword") or is_named(config):
        return
    stories: defaultdict[tuple[Path, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.path.is_relative_to(HERE):
            stories[item.path, getattr(item, "originalname", item.name)].append(item)
    left = {
        item
        for variants in stories.values()
        for place, item in enumerate(variants)
        if place % (MANY if len(variants) >= MANY else SOME if len(variants) >= SOME else 2)
    }
    config.hook.pytest_deselected(items=sorted(left, key=lambda item: item.nodeid))
    items[:] = [item for item in items if item not in left]


def is_named(config: pytest.Config) -> bool:
    """Whether the command line asks for a test by its name."""
    return any("::" in argument for argument in config.args)
