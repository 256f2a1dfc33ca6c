"""What reports of coverage say of the lines that a change added."""

from collections.abc import Mapping

from git_blackbird.model.rules.coverage import AddedLines, change_coverage
from git_blackbird.model.run.coverage import FileLines, TreeCoverage
from git_blackbird.model.run.evidence import ChangeCoverage, MissedLines

ONE, TWO = "1" * 40, "2" * 40


def added(content: str = ONE, *numbers: int) -> AddedLines:
    return AddedLines(content, frozenset(numbers))


def report(files: Mapping[str, Mapping[int, bool]], content: str = ONE) -> TreeCoverage:
    return TreeCoverage(files={path: FileLines.of(content, lines, {}) for path, lines in files.items()})


def test_added_lines_that_no_test_ran_are_counted_and_named() -> None:
    known = report({"a.py": {1: True, 2: False, 3: False, 5: True, 9: False}, "b.py": {1: False}})
    assert change_coverage({"a.py": added(ONE, 2, 3, 4, 5)}, [known]) == ChangeCoverage(
        lines=3, missed=2, files=(MissedLines(path="a.py", content=ONE, lines="2-3"),)
    )


def test_a_line_has_run_if_one_of_several_checks_ran_it() -> None:
    known = [report({"a.py": {1: True, 2: False, 3: False}}), report({"a.py": {2: True, 3: False}})]
    found = change_coverage({"a.py": added(ONE, 1, 2, 3)}, known)
    assert (found.lines, found.missed, found.files[0].lines) == (3, 1, "3")


def test_lines_of_another_content_say_nothing() -> None:
    known = [report({"a.py": {1: False, 2: True}}, TWO), report({"a.py": {1: True}})]
    assert change_coverage({"a.py": added(ONE, 1, 2)}, known) == ChangeCoverage(lines=1)


def test_files_that_no_report_has_are_named_unless_they_are_tests_or_of_another_kind() -> None:
    paths = (
        "new.py",
        "tests/helper.py",
        "test_new.py",
        "new_test.py",
        "src/ATest.py",
        "attested.py",
        "README.md",
    )
    found = change_coverage({path: added(ONE, 1) for path in paths}, [report({"a.py": {1: True}})])
    assert found == ChangeCoverage(absent=("new.py", "attested.py"))
    assert change_coverage({"new.py": added(ONE, 1)}, [TreeCoverage(fault="none")]) == ChangeCoverage(
        fault="none"
    )


def test_what_is_named_is_bounded_and_the_rest_is_counted() -> None:
    odd = dict.fromkeys(range(1, 5_001, 2), False)
    files = {f"{name}.py": added(ONE, *odd) for name in "ab"}
    found = change_coverage(files, [report(dict.fromkeys(files, odd))])
    assert (found.missed, found.more) == (5_000, 3_000)
    assert [file.path for file in found.files] == ["a.py"]
