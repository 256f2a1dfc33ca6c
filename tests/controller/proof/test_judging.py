"""What a run of a check without some hunks says of them."""

from collections.abc import Collection, Mapping

import pytest

from git_blackbird.controller.proof.judging import (
    PASSED,
    judged,
    most_seconds,
    together,
    told_apart,
    why_useless,
)
from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.run.evidence import CaseResults, CaseState, CheckResult, FailedCase
from git_blackbird.model.run.proof import HunkVerdict, Judged
from git_blackbird.model.run.states import CheckOutcome

NOTICED, UNNOTICED, INCONCLUSIVE = HunkVerdict.NOTICED, HunkVerdict.UNNOTICED, HunkVerdict.INCONCLUSIVE


def of(
    outcome: CheckOutcome,
    passed: Collection[str] = (),
    failed: Mapping[str, str] | None = None,
    flaky: Collection[str] = (),
    reason: str | None = None,
    output: str | None = None,
) -> TreeVerdict:
    result = CheckResult(outcome=outcome, name="web", command="make", reason=reason, output=output)
    if failed is None:
        return TreeVerdict(result)
    states = {**dict.fromkeys(passed, CaseState.PASSED), **dict.fromkeys(failed, CaseState.FAILED)}
    failures = tuple(FailedCase(name=name, message=text) for name, text in failed.items())
    return TreeVerdict(result, CaseResults(states=states, failures=failures, flaky=tuple(flaky)))


GREEN = of(CheckOutcome.PASSED, ("a", "b", "c"), {}, flaky=("c",))
BARE = of(CheckOutcome.PASSED)
FAILED = CheckOutcome.FAILED


@pytest.mark.parametrize(
    ("run", "verdict", "says"),
    [
        (of(FAILED, ("a", "c"), {"b": "1 != 2"}), NOTICED, "b"),
        (of(CheckOutcome.PASSED, ("a", "b", "c"), {}), UNNOTICED, None),
        (of(FAILED, ("a", "b", "c"), {}), NOTICED, "check web"),
        (of(FAILED, ("a", "b"), {"c": "1 != 2"}), INCONCLUSIVE, "only what fails by chance"),
        (of(FAILED, ("b", "c"), {"a": "1 != 2"}), INCONCLUSIVE, "only what fails by chance"),
        (of(FAILED, ("c",), {"b": "NameError: name 'x' is not defined"}), INCONCLUSIVE, "NameError"),
        (of(FAILED, ("c",), {"test_a.py": "SyntaxError: invalid"}), INCONCLUSIVE, "SyntaxError"),
        (of(FAILED, ("c",), {"pkg": "build failed"}), INCONCLUSIVE, "build failed"),
        (of(FAILED, ("c",), {"test_a": "a.py:1: in f\nE   KeyError: 1"}), INCONCLUSIVE, "KeyError: 1"),
        (of(FAILED, ("a",), {}), INCONCLUSIVE, "tests are gone"),
        # A test that misses a module has noticed that it is gone, if it can be loaded.
        (of(FAILED, ("a", "c"), {"b": "ImportError: No module named x"}), NOTICED, "b"),
        (of(FAILED, ("a",), {"b": "ImportError: No module named x"}), INCONCLUSIVE, "No module"),
        # What fails beside a file that does not load has noticed it.
        (of(FAILED, ("a",), {"b": "1 != 2", "test_c.py": "ImportError: x"}), NOTICED, "b"),
        (of(FAILED, reason="no test ran"), INCONCLUSIVE, "no test ran"),
        (of(CheckOutcome.BROKEN, reason="it was not done"), INCONCLUSIVE, "it was not done"),
    ],
)
def test_with_results_tests_notice_it(run: TreeVerdict, verdict: HunkVerdict, says: str | None) -> None:
    found = judged(GREEN, run, {"a"})
    assert found.verdict is verdict
    assert (says or "") in (found.by or found.reason or "")


@pytest.mark.parametrize(
    ("green", "run", "verdict"),
    [
        (BARE, of(CheckOutcome.PASSED), UNNOTICED),
        (BARE, of(FAILED, output="expected 1"), NOTICED),
        (BARE, of(FAILED, output="./a.sh: line 3: checked: command not found"), INCONCLUSIVE),
        (BARE, of(FAILED, output="a.go:3:2: undefined: checked\nFAIL a [build failed]"), INCONCLUSIVE),
        (BARE, of(FAILED, output="E   NameError: name 'x' is not defined"), INCONCLUSIVE),
        (BARE, of(CheckOutcome.BROKEN, reason="it was not done"), INCONCLUSIVE),
        (of(CheckOutcome.FLAKY), of(FAILED, output="expected 1"), INCONCLUSIVE),
    ],
)
def test_without_results_the_check_notices_it(
    green: TreeVerdict, run: TreeVerdict, verdict: HunkVerdict
) -> None:
    assert judged(green, run, ()).verdict is verdict
    # One that fails by chance notices nothing.
    assert judged(green, run, {"make"}).verdict is (INCONCLUSIVE if verdict is NOTICED else verdict)


def test_a_run_without_several_trials_tells_them_apart_by_their_tests() -> None:
    tests = [(frozenset("a"), ["x.py"]), (frozenset("b"), ["y.py"])]
    green = of(CheckOutcome.PASSED, ("a", "b", "c"), {})
    noticed = Judged(verdict=NOTICED, by="b")
    assert told_apart(green, of(FAILED, ("a", "c"), {"b": "1 != 2"}), (), tests) == [PASSED, noticed]
    assert told_apart(green, of(CheckOutcome.PASSED, ("a", "b", "c"), {}), (), tests) == [PASSED, PASSED]
    unloaded = of(FAILED, ("b", "c"), {"a": "NameError: name 'x' is not defined"})
    first, second = told_apart(green, unloaded, (), tests)
    assert first is not None
    assert (first.verdict, second) == (INCONCLUSIVE, PASSED)
    # After a panic the tests of the other are gone.
    assert told_apart(green, of(FAILED, (), {"b": "1 != 2"}), (), tests) == [None, noticed]
    # A file that cannot be read is named.
    syntax = of(FAILED, ("b",), {"test_a.py": "E   File 'x.py', line 3\nE     if\nE   SyntaxError: invalid"})
    first, second = told_apart(green, syntax, (), tests)
    assert first is not None
    assert (first.verdict, first.reason, second) == (INCONCLUSIVE, "E SyntaxError: invalid", None)
    both = [(frozenset("a"), ["x.py"]), (frozenset("b"), ["y.py", "x.py"])]
    assert told_apart(green, syntax, (), both) == [None, None]
    unclear = [
        of(FAILED, ("a", "b"), {"c": "1 != 2"}),
        of(FAILED, ("b",), {"a": "1 != 2", "c": "1 != 2"}),
        of(FAILED, ("b", "c"), {"test_a.py": "ImportError: x"}),
        of(FAILED, ("a", "b", "c"), {}),
        of(CheckOutcome.BROKEN, reason="it was not done"),
        of(FAILED, reason="no test ran"),
    ]
    assert [told_apart(green, run, (), tests) for run in unclear] == [[None, None]] * len(unclear)
    assert told_apart(green, of(FAILED, ("a", "c"), {"b": "1 != 2"}), {"b"}, tests) == [None, None]


def test_a_check_has_three_times_as_long_for_each_that_runs_at_once() -> None:
    green = BARE.result.updated(seconds=2.1)
    assert [most_seconds(green, slots) for slots in (1, 3)] == [7, 19]
    assert most_seconds(BARE.result, 3) == 5


def test_what_one_check_notices_is_noticed() -> None:
    kinds = [Judged(verdict=verdict) for verdict in HunkVerdict]
    assert together(kinds).verdict is NOTICED
    assert together([Judged(verdict=UNNOTICED), Judged(verdict=HunkVerdict.OPEN)]).verdict is HunkVerdict.OPEN
    assert together([Judged(verdict=HunkVerdict.UNRUN), Judged(verdict=UNNOTICED)]).verdict is UNNOTICED
    assert together([]).verdict is HunkVerdict.UNSEEN


def test_a_check_that_does_not_pass_with_all_of_the_change_tells_nothing() -> None:
    assert why_useless(GREEN) is None
    assert why_useless(of(FAILED, ("a",), {"b": "1 != 2"})) is None
    assert "the check web does not pass" in (why_useless(of(FAILED)) or "")
    assert "broken" in (why_useless(of(CheckOutcome.BROKEN, reason="no test ran")) or "")
