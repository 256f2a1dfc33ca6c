"""Which variants of an attack the suite takes: of every story some (``tests/sampling.py``)."""

from pathlib import Path

import pytest

from tests.sampling import variants

HERE = Path(__file__).resolve().parent
# Of a story with many variants every sixth is taken, with some every third, else every second.
MANY, SOME = 6, 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for story in variants(item for item in items if item.path.is_relative_to(HERE)):
        step = MANY if len(story) >= MANY else SOME if len(story) >= SOME else 2
        for item in story:
            item.add_marker(pytest.mark.sampled(-(-len(story) // step)))
