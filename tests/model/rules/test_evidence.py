"""What several runs of a check say together, and what a change did to tests."""

import pytest
from pydantic import ValidationError

from git_blackbird.messages.display.evidence import evidence_word
from git_blackbird.messages.outgoing.reviewer_prompts import evidence_for_reviewers
from git_blackbird.model.rules.evidence import (
    TreeVerdict,
    against_results,
    is_shown_whole,
    judged,
    red_green,
    together,
    with_edits,
)
from git_blackbird.model.run.evidence import (
    CaseResults,
    CaseState,
    CheckResult,
    ComparedTests,
    Evidence,
    FailedCase,
    RedGreen,
)
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import EditedTest, FileStatus

NO_TESTS = ComparedTests(ran=1)
P, F, S = CaseState.PASSED, CaseState.FAILED, CaseState.SKIPPED
BROKEN, FAILED, PASSED, FLAKY = (
    CheckOutcome.BROKEN,
    CheckOutcome.FAILED,
    CheckOutcome.PASSED,
    CheckOutcome.FLAKY,
)


def ran(outcome: CheckOutcome, flaky: tuple[str, ...] = (), **states: CaseState) -> TreeVerdict:
    failures = tuple(FailedCase(name=name) for name, state in states.items() if state is F)
    tests = CaseResults(states=states, failures=failures, flaky=flaky) if states else None
    return TreeVerdict(CheckResult(outcome=outcome), tests)


def test_an_exit_code_of_0_is_held_against_the_results() -> None:
    assert against_results(ran(PASSED, a=P, b=S)).result.outcome is PASSED
    assert against_results(ran(PASSED, a=F)).result.outcome is FAILED
    assert against_results(ran(PASSED)).result.outcome is BROKEN
    assert against_results(ran(FAILED)).result.outcome is FAILED
    assert against_results(ran(PASSED, a=S)).result.words == "broken: no test ran: all are skipped"


@pytest.mark.parametrize(
    ("tries", "outcome"),
    [
        ((PASSED,), PASSED),
        ((FAILED, PASSED), FLAKY),
        ((FAILED, FAILED, PASSED), FLAKY),
        ((FAILED, FAILED, FAILED), FAILED),
        ((FAILED, BROKEN), FAILED),
        ((BROKEN,), BROKEN),
    ],
)
def test_a_check_that_passes_once_on_a_tree_has_passed(
    tries: tuple[CheckOutcome, ...], outcome: CheckOutcome
) -> None:
    assert together([ran(each) for each in tries]).result.outcome is outcome


def test_a_test_that_fails_each_time_fails_and_the_others_are_flaky() -> None:
    tries = [ran(FAILED, a=F, b=F), ran(FAILED, a=F, b=P, c=F), ran(FAILED, a=F, b=P, c=P)]
    verdict = together(tries)
    assert verdict.result == CheckResult(outcome=FAILED, tries=3)
    assert verdict.tests == CaseResults(
        states={"a": F, "b": P, "c": P}, failures=(FailedCase(name="a"),), flaky=("b", "c")
    )


def test_tests_that_fail_in_turn_are_flaky_and_so_is_the_check() -> None:
    assert together([ran(FAILED, a=F, b=P), ran(FAILED, a=P, b=F)]).result.outcome is FLAKY


def test_without_results_a_base_that_fails_as_well_is_all_that_is_known() -> None:
    assert judged(ran(FAILED), ran(PASSED)).outcome is FAILED
    assert judged(ran(FAILED), ran(FAILED)).outcome is CheckOutcome.FAILED_BEFORE
    assert judged(ran(FAILED), None).outcome is FAILED
    assert judged(ran(PASSED), ran(FAILED)).outcome is PASSED
    never = against_results(ran(FAILED))
    assert judged(never, never).words == "broken: no test ran: it left no results where check.results says"


def test_new_failures_are_those_of_the_change_and_the_same_count_nothing() -> None:
    both = judged(ran(FAILED, a=F, b=F, c=P), ran(FAILED, a=F, b=P, c=F))
    assert both.outcome is FAILED
    assert both.tests == ComparedTests(
        ran=3, failing=(FailedCase(name="b"),), as_before=("a",), mended=("c",), new=1
    )
    assert judged(ran(FAILED, a=F, b=P), ran(FAILED, a=F, b=P)).outcome is PASSED
    none = judged(ran(FAILED, a=F, b=S), ran(FAILED, a=F))
    assert none.outcome is CheckOutcome.FAILED_BEFORE
    assert judged(ran(FAILED, a=F, b=P), ran(FAILED, a=F)).outcome is PASSED


def test_what_is_gone_or_skipped_is_said_and_what_never_ran_is_not() -> None:
    found = judged(ran(PASSED, a=P, b=S, d=S, e=P), ran(PASSED, a=P, b=P, c=P, d=S)).tests
    assert found == ComparedTests(ran=2, gone=("c",), skipped=("b",))


def test_a_test_that_is_known_to_be_flaky_is_no_reason_by_itself() -> None:
    base = ran(PASSED, a=P, b=P)
    assert judged(ran(FAILED, a=F, b=P), base, {"a"}).outcome is FLAKY
    assert judged(ran(FAILED, a=F, b=F), base, {"a"}).outcome is FAILED


def test_a_check_that_fails_by_itself_fails_though_no_test_does() -> None:
    assert judged(ran(FAILED, a=P), ran(PASSED, a=P)).outcome is FAILED


def test_of_several_verdicts_the_worst_is_that_on_the_change() -> None:
    bare, tested = (
        CheckResult(outcome=PASSED, name="api"),
        CheckResult(outcome=PASSED, name="web", tests=NO_TESTS),
    )
    red = CheckResult(outcome=FAILED, criterion=2, command="make all", exit_code=2)
    assert [Evidence(checks=checks).label for checks in ((tested,), (tested, bare), (tested, bare, red))] == [
        "passed",
        "exit 0",
        "failed",
    ]
    whole = Evidence(checks=(tested, bare, red))
    assert (whole.outcome, whole.has_passed, whole.failed, whole.red) == (FAILED, False, (red,), (red,))
    assert Evidence.failing((bare, red)) == "the check api and the criterion $ make all fail"
    assert evidence_word(whole) == "passed: web; exit 0: api; failed: criterion $ make all"
    assert evidence_for_reviewers(whole).splitlines()[1:] == [
        "The check api of the user, ``, passes on this change.",
        "The criterion $ make all: failed: exit 2.",
    ]
    assert [check.stream for check in whole.checks] == ["check.web", "check.api", "criterion.2"]


@pytest.mark.parametrize("name", ["../../x", "a b", "A", ""])
def test_a_name_of_a_check_leads_nowhere(name: str) -> None:
    with pytest.raises(ValidationError, match=r"checks\.0\.name"):
        Evidence.from_value({"checks": [{"outcome": "passed", "name": name}]})


@pytest.mark.parametrize(
    ("command", "is_whole"),
    [
        ("make test", True),
        ("echo \u202e", False),
        ("a\nb", False),
        ("a\x1b[2K", False),
        ("a" * 1001, False),
        (f"true{' ' * 70}; rm x", False),
    ],
)
def test_a_command_is_agreed_to_only_if_all_of_it_is_seen(command: str, *, is_whole: bool) -> None:
    assert is_shown_whole(command) is is_whole


def test_an_exit_code_alone_is_too_little_where_tests_are_taken_away() -> None:
    bare = CheckResult(outcome=CheckOutcome.PASSED, exit_code=0)
    told = bare.updated(tests=ComparedTests(ran=1))
    less, as_many, gone = (
        EditedTest(status=status, path="test_a.py", additions=1, deletions=deleted)
        for status, deleted in ((FileStatus.MODIFIED, 2), (FileStatus.MODIFIED, 1), (FileStatus.DELETED, 0))
    )
    assert with_edits(bare, [as_many], ()) is bare
    assert with_edits(told, [less, gone], ()) is told
    weaker = as_many.updated(weaker=("test_b",))
    assert (
        with_edits(told, [weaker], ()).words == "weakened: exit 0, but tests assert less than before: test_b"
    )
    assert with_edits(told, (), ["run.sh"]).words == "weakened: exit 0, but the change edits run.sh"
    for test in (less, gone):
        assert with_edits(bare, [test], ()).words == "weakened: exit 0, but the change takes tests away"
    assert with_edits(bare, (), ["run.sh", "b"]).words == "weakened: exit 0, but the change edits run.sh, b"


def old(messages: dict[str, str], **states: CaseState) -> TreeVerdict:
    failures = tuple(FailedCase(name=name, message=says) for name, says in messages.items())
    failed = dict.fromkeys(messages, F)
    result = CheckResult(outcome=CheckOutcome.FAILED, exit_code=1)
    return TreeVerdict(result, CaseResults(states={**states, **failed}, failures=failures))


def first(verdict: TreeVerdict, base: CaseResults | None = None, **head: CaseState) -> RedGreen:
    return red_green(CaseResults(states=head), base, verdict)


def test_tests_that_fail_on_the_old_sources_and_pass_on_the_new_are_red() -> None:
    base = CaseResults(states={"old": P, "edited": P, "broken": F})
    verdict = old({"new": "3 != 4", "edited": "no", "broken": "no", "still": "no"}, old=P, same=P, off=S)
    found = first(verdict, base, new=P, edited=P, broken=P, still=F, old=P, same=P, off=P)
    assert found == RedGreen(red=("broken", "edited", "new"), green=("off", "same"))


@pytest.mark.parametrize(
    "says",
    [
        "ImportError: cannot import name 'new' from 'app'",
        "ModuleNotFoundError: No module named 'new'",
        "Cannot find module './new'",
        "The requested module './app.js' does not provide an export named 'x'",
    ],
)
def test_a_test_that_misses_a_module_is_no_red(says: str) -> None:
    assert first(old({"new": says}), new=P) == RedGreen(unloaded=("new",), reason=says)


def test_tests_of_a_file_that_cannot_be_loaded_are_no_red() -> None:
    found = first(old({"test_app": "ImportError while importing"}), new=P, other=P)
    assert found == RedGreen(unloaded=("new", "other"), reason="ImportError while importing")
    nothing = TreeVerdict(CheckResult(outcome=CheckOutcome.FAILED, exit_code=1, reason="no test ran"))
    assert first(nothing, new=P) == RedGreen(unloaded=("new",), reason="failed: exit 1, and no test ran")
    assert first(nothing, CaseResults(states={"old": P}), old=P) == RedGreen()
