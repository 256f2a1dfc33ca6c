"""Which files a task names."""

from dataclasses import replace

import pytest

from git_blackbird.model.plan.named_paths import named_paths, overlaps
from tests.model.building import task


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("Write `f.txt`, and ./src/a.py.", {"f.txt", "src/a.py"}),
        ("Move docs/ below site/docs (see docs/index.md)", {"docs", "site/docs", "docs/index.md"}),
        ("Say it in plain words, e.g. no. 5 of README", set()),
    ],
)
def test_files_and_folders_are_named(prompt: str, names: set[str]) -> None:
    assert named_paths(replace(task("a"), prompt=prompt)) == names


def test_a_folder_overlaps_with_what_is_in_it() -> None:
    assert overlaps({"src"}, frozenset({"src/a.py"}))
    assert overlaps({"src/a.py"}, frozenset({"src"}))
    assert not overlaps({"src"}, frozenset({"srcs/a.py"}))
    assert overlaps({"f.txt"}, frozenset({"f.txt"}))
