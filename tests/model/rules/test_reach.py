"""Which tests run which hunks, and which hunks share a run of the check."""

from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.rules.reach import Reach, sharing
from git_blackbird.model.run.coverage import FileLines, TreeCoverage
from git_blackbird.model.run.evidence import CaseResults, CaseState, CheckResult
from git_blackbird.model.run.proof import Hunk
from git_blackbird.model.run.states import CheckOutcome

CONTENT = "1" * 40
RAN = (
    "t.test_a[1]",
    "t.test_a[2]",
    "t.test_b",
    "tests.test_c.C.test_c",
    "example.com/m.TestGo",
    "example.com/m.TestGo/sub.case",
    "x y",
)


def hunk(first: int, count: int = 1, content: str = CONTENT) -> Hunk:
    return Hunk(path="a.py", content=content, old=0, old_count=0, new=first - 1, new_count=count)


def reach(lines: dict[int, bool], **by_test: set[int]) -> Reach:
    """Return what coverage says; a name has ``__`` for a dot."""
    return Reach(verdict(lines, **by_test))


def verdict(lines: dict[int, bool], **by_test: set[int]) -> TreeVerdict:
    names = [name.replace("__", ".") for name in by_test]
    file = FileLines.of(CONTENT, lines, dict(enumerate(by_test.values())))
    coverage = TreeCoverage(files={"a.py": file}, tests=tuple(names))
    tests = CaseResults(states=dict.fromkeys(RAN, CaseState.PASSED))
    return TreeVerdict(CheckResult(outcome=CheckOutcome.PASSED), tests, coverage)


def ran_by(found: Reach, *hunks: Hunk) -> set[str] | None:
    tests = found.tests_of(hunks)
    return None if tests is None else set(tests)


def test_a_hunk_is_run_by_the_tests_that_ran_one_of_its_lines() -> None:
    found = reach({1: True, 2: True, 3: False, 4: False}, t__test_a={1, 2}, t__test_b={2}, x_y={1})
    assert ran_by(found, hunk(1)) == {"t.test_a[1]", "t.test_a[2]", "x y"}
    assert ran_by(found, hunk(2, 2)) == {"t.test_a[1]", "t.test_a[2]", "t.test_b"}
    assert ran_by(found, hunk(3, 2), hunk(2)) == {"t.test_a[1]", "t.test_a[2]", "t.test_b"}
    assert ran_by(found, hunk(3, 2)) == set()


def test_a_test_is_found_without_its_module_and_with_what_it_has_within() -> None:
    assert ran_by(reach({1: True}, TestGo={1}), hunk(1)) == set(RAN[4:6])
    # As coverage.py names it where its module was found without the package.
    for name in ("test_c__C__test_c", "C__test_c", "test_c_C_test_c"):
        assert ran_by(reach({1: True}, **{name: {1}}), hunk(1)) == {RAN[3]}


def test_nothing_is_known_of_what_runs_outside_of_tests_or_is_no_line_to_run() -> None:
    lines = {1: True, 2: True, 3: True, 4: False, 6: False}
    found = reach(lines, t__test_b={1, 2}, nobody={3}, **{"": {2}})
    assert ran_by(found, hunk(1)) == {"t.test_b"}
    # At import as well; by a test that left no result; behind what it belongs to; taken away; another file.
    for unknown in (hunk(2), hunk(3), hunk(5), hunk(5, 2), hunk(1, 0), hunk(1, 1, "2" * 40)):
        assert ran_by(found, unknown) is None
        assert ran_by(found, hunk(1), unknown) is None


def test_without_coverage_by_test_no_test_is_known_but_that_none_ran_it() -> None:
    found = reach({1: True, 2: False})
    assert (ran_by(found, hunk(1)), ran_by(found, hunk(2))) == (None, set())
    found = Reach(verdict({1: True, 2: False}, t__test_a={1})._replace(tests=None))
    assert (ran_by(found, hunk(1)), ran_by(found, hunk(2))) == (None, set())
    empty = Reach(TreeVerdict(CheckResult(outcome=CheckOutcome.PASSED)))
    assert empty.tests_of([hunk(2)]) is None


def test_parts_without_a_test_in_common_share_a_run() -> None:
    a, b, c = frozenset("a"), frozenset("b"), frozenset("c")
    assert sharing([a | c, b, None, frozenset(), a, c, b]) == [0, 1]
    assert sharing([a, a, c]) == [0, 2]
    assert sharing([None, a, b]) == [0]
    assert sharing([]) == []
