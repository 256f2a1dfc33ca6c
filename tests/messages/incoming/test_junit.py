"""JUnit XML as runners write it: pytest, node, go-junit-report, surefire, nextest, ctest."""

import pytest

from git_blackbird.errors import UnusableError
from git_blackbird.messages.incoming.junit import read_junit
from git_blackbird.model.run.evidence import CaseResults, CaseState, FailedCase

PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests">
<testsuite name="pytest" tests="3">
<testcase classname="tests.test_app" name="test_a" time="0.001" />
<testcase classname="tests.test_app" name="test_b[1]"><failure
 message="assert 6 == 4&#10; +  where 6 = double(2)">def test_b():
&gt;   assert double(2) == 4
E   assert 6 == 4</failure></testcase>
<testcase classname="tests.test_app" name="test_c"><skipped
 type="pytest.skip" message="no network">x</skipped></testcase>
<testcase classname="" name="tests.test_broken"><error
 message="collection failure">ImportError: no</error></testcase>
</testsuite></testsuites>"""
NODE = """<?xml version="1.0" encoding="utf-8"?><testsuites>
<testsuite name="sums" tests="2"><testcase name="adds" classname="test" file="a.test.js"/>
<testcase name="subtracts" classname="test" file="a.test.js" failure="1 !== 2"><failure
 type="testCodeFailure" message="1 !== 2">
[Error] 1 !== 2</failure></testcase>
<testcase name="later" classname="test"><skipped type="todo"/></testcase></testsuite>
</testsuites>"""
GO = """<testsuites><testsuite name="example.com/m"><testcase name="TestA" classname="m"></testcase>
<testcase name="TestB" classname="m"><failure
  message="Failed">=== RUN   TestB
    m_test.go:8: got 3
--- FAIL: TestB (0.00s)</failure></testcase></testsuite></testsuites>"""
JEST = """<testsuites name="jest tests"><testsuite name="sums">
<testcase classname="sums adds" name="sums adds" time="0.1"></testcase>
<testcase classname=" alone" name=" alone"><failure>Error: no</failure></testcase></testsuite></testsuites>"""
CTEST = """<testsuite name="Linux"><testcase name="one" classname="one" status="run"/>
<testcase name="two" classname="two" status="fail"><failure message="Failed"/></testcase>
<testcase name="three" classname="three" status="disabled"/></testsuite>"""


def states(results: CaseResults) -> dict[str, str]:
    return {name: state.value for name, state in results.states.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PYTEST,
            {
                "tests.test_app.test_a": "passed",
                "tests.test_app.test_b[1]": "failed",
                "tests.test_app.test_c": "skipped",
                "tests.test_broken": "failed",
            },
        ),
        (
            NODE,
            {"a.test.js.sums.adds": "passed", "a.test.js.sums.subtracts": "failed", "sums.later": "skipped"},
        ),
        (GO, {"m.TestA": "passed", "m.TestB": "failed"}),
        (JEST, {"sums adds": "passed", "alone": "failed"}),
        (CTEST, {"one": "passed", "two": "failed", "three": "skipped"}),
    ],
    ids=["pytest", "node", "go", "jest", "ctest"],
)
def test_each_runner_says_which_tests_it_ran(text: str, expected: dict[str, str]) -> None:
    assert states(read_junit([("report.xml", text.encode())])) == expected


def test_what_a_failure_says_is_its_first_line_and_its_end() -> None:
    failures = read_junit([("report.xml", PYTEST.encode())]).failures
    assert failures[0] == FailedCase(
        name="tests.test_app.test_b[1]",
        message="assert 6 == 4",
        output="def test_b():\n>   assert double(2) == 4\nE   assert 6 == 4",
    )
    assert read_junit([("t.xml", CTEST.encode())]).failures == (FailedCase(name="two", message="Failed"),)
    # What go's runner says stands below it alone.
    (case,) = read_junit([("t.xml", GO.encode())]).failures
    assert case.message == "m_test.go:8: got 3"


def test_tests_of_the_same_name_are_told_apart_by_their_suites() -> None:
    works = '<testsuite name="depth"><testcase name="works" classname="test"/></testsuite>'
    text = "".join(f'<testsuite name="in {name}">{works}</testsuite>' for name in "ab")
    text = f"<testsuites>{text}</testsuites>"
    assert states(read_junit([("r.xml", text.encode())])) == {
        "in a.depth.works": "passed",
        "in b.depth.works": "passed",
    }


def test_the_worst_result_of_a_name_counts_over_all_files() -> None:
    passed, failed = ('<testcase name="a"/>', '<testcase name="a"><failure/></testcase>')
    for files in ((passed, failed), (failed, passed)):
        results = read_junit([(f"{text}.xml", text.encode()) for text in files])
        assert results.states == {"a": CaseState.FAILED}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no element found: line 1, column 0"),
        ("1 passed", "syntax error: line 1, column 0"),
        ("<testsuite><testcase>", "no element found: line 1, column 21"),
        (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><testcase name="&x;"/>',
            "it declares entities",
        ),
    ],
    ids=["empty", "text", "cut off", "entity"],
)
def test_what_is_no_junit_xml_is_refused_by_name(text: str, why: str) -> None:
    with pytest.raises(UnusableError) as refused:
        read_junit([("out/r.xml", text.encode())])
    assert refused.value.message == f"the results in out/r.xml are no JUnit XML: {why}"


def test_names_and_texts_of_anyone_are_bounded_and_clean() -> None:
    failure = f'<failure message="{"c" * 9999}">{"d" * 9999}</failure>'
    text = f'<testcase name="a&#x9b;31m{"b" * 1000}">{failure}</testcase>'
    results = read_junit([("r.xml", text.encode())])
    (case,) = results.failures
    assert "\x9b" not in case.name
    assert (len(case.name), len(case.message or ""), len(case.output or "")) == (300, 500, 2000)
