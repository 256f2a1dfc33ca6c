"""Verdicts of checks that are kept, with the lines that their tests ran."""

import os
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


def test_the_oldest_verdicts_make_room_and_so_do_large_ones(paths: Paths) -> None:
    for number in range(105):
        save_check(paths, TreeVerdict(check(number), coverage=LINES))
        newest = max(paths.checks.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (number, number))
    kept = [number for number in range(105) if load_check(paths, check(number)) is not None]
    assert kept == list(range(5, 105))
    large = sorted(paths.checks.iterdir(), key=lambda path: path.stat().st_mtime_ns)[50]
    os.truncate(large, 100_000_000)
    os.utime(large, (55, 55))
    save_check(paths, TreeVerdict(check(200)))
    assert len(list(paths.checks.iterdir())) == 50
    assert load_check(paths, check(104)) is not None
