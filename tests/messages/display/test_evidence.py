"""The words for lines that no test ran: bounded, on lines of their own, whatever files are called."""

from git_blackbird.messages.display.evidence import coverage_lines, coverage_word
from git_blackbird.model.run.evidence import ChangeCoverage, MissedLines


def test_many_files_and_lines_are_counted() -> None:
    files = tuple(MissedLines(path=f"{name}.py", content="1" * 40, lines="1,3-4") for name in range(12))
    odd = ",".join(map(str, range(1, 41, 2)))
    files = (MissedLines(path="a\nb\x1b.py", content="1" * 40, lines=odd), *files)
    said = [*coverage_lines(ChangeCoverage(lines=90, missed=56, files=files, absent=("\x07.py",)))]
    assert said[:3] == [
        "no test ran 56 of 90 added lines that can run",
        '  "a\\nb\\u001b.py": 1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 10 more',
        "  0.py: 1, 3-4",
    ]
    assert said[-2:] == ["  and 3 more files", 'in no report of the lines that tests ran: "\\u0007.py"']


def test_what_all_ran_is_said_and_of_a_change_without_lines_nothing_is() -> None:
    assert coverage_word(ChangeCoverage(lines=1)) == "tests ran all of 1 added line that can run"
    assert [*coverage_lines(ChangeCoverage())] == []
    assert [*coverage_lines(None)] == []
