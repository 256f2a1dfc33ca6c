"""Verdicts of checks that are kept, with the lines that their tests ran."""

from pathlib import Path

import pytest

from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.run.coverage import FileLines, TreeCoverage
from git_blackbird.model.run.evidence import CheckResult
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.storage.checks import load_check, save_check
from git_blackbird.storage.paths import Paths

LINES = TreeCoverage(files={"a.py": FileLines(content="1" * 40, ran="1-3", missed="4")})


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path, tmp_path / "private")


def check(number: int, coverage: tuple[str, ...] | None = ("cov.xml",)) -> CheckResult:
    return CheckResult(outcome=CheckOutcome.PASSED, command="test", tree=f"{number:040}", coverage=coverage)


def test_lines_are_kept_with_a_verdict_and_without_them_it_is_none_where_they_are_wanted(
    paths: Paths,
) -> None:
    save_check(paths, TreeVerdict(check(1, None)))
    assert load_check(paths, check(1, None)) == TreeVerdict(check(1, None))
    assert load_check(paths, check(1)) is None
    save_check(paths, TreeVerdict(check(1), coverage=LINES))
    assert load_check(paths, check(1)) == TreeVerdict(check(1), coverage=LINES)
    assert load_check(paths, check(1, ("other.xml",))) is None
    # What is compared with the change needs none.
    assert load_check(paths, check(1, None)) == TreeVerdict(check(1, None))


def test_lines_are_kept_of_the_last_verdicts_alone(paths: Paths) -> None:
    for number in range(30):
        save_check(paths, TreeVerdict(check(number), coverage=LINES))
    kept = [number for number in range(30) if load_check(paths, check(number)) is not None]
    assert kept == list(range(10, 30))
    assert all(load_check(paths, check(number, None)) is not None for number in range(30))
    assert len(list(paths.tests.iterdir())) == len(kept)
