"""Coverage as tools write it: coverage.py, c8, gcovr, converters for Go; and as anybody could write it."""

from collections.abc import Collection

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.messages.incoming.coverage import FileHits, Places, read_coverage

TOP = "/tmp/scratch/head"
PYTHON_XML = """<?xml version="1.0" ?>
<coverage version="7.17.5" lines-valid="4" lines-covered="3"><sources><source>{0}</source></sources>
<packages><package name="."><classes><class name="a.py" filename="a.py"><methods/><lines>
<line number="1" hits="1"/><line number="2" hits="1" branch="true" missing-branches="4"/>
<line number="4" hits="0"/></lines></class></classes></package></packages></coverage>"""
PYTHON_LCOV = "SF:pkg/a.py\nDA:1,1\nDA:2,1\nDA:4,0\nLF:4\nLH:3\nend_of_record\n"
C8_XML = """<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage><sources><source>/tmp/scratch/head</source></sources><packages><package name="main"><classes>
<class name="a.py" filename="pkg/a.py"><methods><method name="f" hits="1"><lines>
<line number="1" hits="1"/></lines></method></methods><lines><line number="1" hits="1"/>
<line number="2" hits="1"/><line number="4" hits="0"/></lines></class></classes></package></packages>
</coverage>"""
GCOVR_LCOV = (
    f"TN:GCOVR_report\nSF:{TOP}/pkg/a.py\nFN:2,f\nFNDA:1,f\nBRDA:4,0,1,-\n"
    "DA:1,7,064531858d36316d015c8cdb34d0226b\nDA:2,1,dcd3585cf862ce5b633e89976e6a0be7\n"
    "DA:4,0,30947b981b8563f1d1a6690c87ba3db6\nend_of_record\n"
)
GO_LCOV = "TN:\r\nSF:example.com/m/pkg/a.py\r\nDA:1,1\r\nDA:2,1\r\nDA:4,0\r\nend_of_record\r\n"


PYTHON_JSON = """{"meta": {"format": 3, "show_contexts": true}, "files": {"pkg/a.py": {
"executed_lines": [1, 2], "summary": {"percent_covered": 66.7}, "missing_lines": [4], "excluded_lines": [],
"contexts": {"1": ["tests/test_a.py::A::test_a|setup"],
"2": ["", "tests/test_a.py::A::test_b[x::y/z.py]|run", "tests.test_c.test_d"]},
"functions": {"f": {"executed_lines": [2], "contexts": {}}}}}, "totals": {}}"""


def hits(text: str, *tree: str, path: str = "cov") -> dict[str, FileHits]:
    paths: Collection[str] = tree or ("pkg/a.py", "other.py")
    return read_coverage([(path, text.encode())], Places((TOP,), paths.__contains__))


def read(text: str, *tree: str, path: str = "cov") -> dict[str, dict[int, bool]]:
    return {file: found.lines for file, found in hits(text, *tree, path=path).items()}


@pytest.mark.parametrize(
    "text",
    [
        PYTHON_XML.format(f"{TOP}/pkg"),
        # As it is written in a container.
        PYTHON_XML.format("/app/pkg"),
        PYTHON_XML.format("pkg"),
        PYTHON_LCOV,
        C8_XML,
        GCOVR_LCOV,
        GO_LCOV,
        PYTHON_LCOV.replace("pkg/a.py", ".\\pkg\\a.py"),
        PYTHON_JSON,
    ],
    ids=["python", "container", "relative", "lcov", "c8", "gcovr", "go", "windows", "json"],
)
def test_each_tool_says_which_lines_of_a_file_ran(text: str) -> None:
    assert read(text) == {"pkg/a.py": {1: True, 2: True, 4: False}}


def test_coverage_py_says_which_tests_ran_a_line_by_the_names_of_their_results() -> None:
    # What a fixture runs may matter to other tests than the one that it is made for.
    tests = {"": {1, 2}, "tests.test_a.A.test_b[x::y/z.py]": {2}, "tests.test_c.test_d": {2}}
    assert hits(PYTHON_JSON)["pkg/a.py"].by_test == tests


def test_lcov_says_which_test_ran_what_stands_below_its_name() -> None:
    one, two = "TN:one\nSF:pkg/a.py\nDA:1,1\nDA:2,0\nend_of_record\n", "TN:two\nSF:pkg/a.py\nDA:1,2\nDA:2,1\n"
    found = hits(one + two + "SF:other.py\nDA:7,1\nTN:\nDA:8,1\n")
    assert found["pkg/a.py"].by_test == {"one": {1}, "two": {1, 2}}
    assert found["pkg/a.py"].lines == {1: True, 2: True}
    assert found["other.py"].by_test == {"two": {7}, "": {8}}


def test_a_path_is_looked_for_at_the_report_and_above_first() -> None:
    text = "SF:src/a.js\nDA:1,0\n"
    one, two = "packages/one/src/a.js", "packages/two/src/a.js"
    assert read(text, "src/a.js", one, two, path="packages/two/coverage/lcov.info") == {two: {1: False}}
    assert read(text, "src/a.js", one, two, path="lcov.info") == {"src/a.js": {1: False}}


def test_what_is_not_of_the_tree_or_may_be_two_files_says_nothing() -> None:
    sources = f"{TOP}/pkg</source><source>{TOP}/lib"
    assert read(PYTHON_XML.format(sources), "pkg/a.py", "lib/a.py") == {}
    assert read(PYTHON_XML.format(sources), "lib/a.py", "a.py").keys() == {"lib/a.py"}
    # A file that the check made is none of the tree's, whatever stands at the end of its path.
    assert read(f"SF:{TOP}/build/other.py\nDA:1,0\n") == {}
    assert read("SF:/usr/lib/python3/os.py\nDA:1,0\nSF:\nDA:1,0\nSF:../../etc/passwd\nDA:1,0\n") == {}


def test_a_line_has_run_if_it_ran_in_one_of_several_reports() -> None:
    one, two = (f"SF:pkg/a.py\nDA:1,{hits[0]}\nDA:2,{hits[1]}\nDA:3,0\n".encode() for hits in ("10", "01"))
    files = [("one.info", one), ("two.info", two)]
    found = read_coverage(files, Places((TOP,), {"pkg/a.py"}.__contains__))
    assert found["pkg/a.py"].lines == {1: True, 2: True, 3: False}


@pytest.mark.parametrize(
    "text",
    [
        "1 passed",
        "<coverage><packages>",
        "<report/>",
        '{"files": {"pkg/a.py": {"executed_lines": [1]}}}',
        '{"files": {"pkg/a.py": {"executed_lines": [1, -2, 99999999999], "missing_lines": []}}}',
        '{"files": ' + "[" * 1_000,
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><coverage>&x;</coverage>',
        '<!DOCTYPE a [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><coverage>&b;</coverage>',
    ],
    ids=["text", "cut off", "jacoco", "less", "numbers", "deep", "file", "entities"],
)
def test_what_is_no_coverage_is_refused_by_name(text: str) -> None:
    with pytest.raises(UnusableError, match=r"out/cov\.xml is no coverage, as "):
        read(text, path="out/cov.xml")


def test_numbers_and_paths_of_anyone_are_bounded() -> None:
    long = "a/" * 100_000
    lines = f"SF:pkg/a.py\nDA:{'9' * 5000},0\nDA:-1,0\nDA:x\nDA:3,{'9' * 5000}\nSF:{long}a.py\nDA:1,0\n"
    assert read(lines, "pkg/a.py", f"{long}a.py") == {"pkg/a.py": {3: True}}
    line = f'<line number="{"9" * 5000}" hits="0"/><line hits="1"/><line number="-1"/><line number="5"/>'
    text = (
        f'<coverage><class filename="pkg/a.py"><lines>{line}</lines></class><class>{line}</class></coverage>'
    )
    assert read(text) == {"pkg/a.py": {5: False}}
    assert read("") == {}


@pytest.mark.exhaustive
def test_a_report_with_more_lines_than_any_project_has_is_refused() -> None:
    with pytest.raises(UnusableError, match=r"cov has more than 2000000 lines"):
        read("SF:other\n" + "DA:1,0\n" * 2_000_001)
