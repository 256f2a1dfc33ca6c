"""What runs of a check say of a change: together, on one tree, and against the base of the change."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.clean import legible
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.evidence import (
    MOST_NAMED,
    CaseResults,
    CaseState,
    CheckResult,
    ComparedTests,
    RedGreen,
)
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import EditedTest, FileStatus

_NOTHING_RAN = "no test ran: it left no results where check.results says"
_ALL_SKIPPED = "no test ran: all are skipped"
# How people quote a command.
_QUOTED = re.compile(r"`([^`]*)`")
_FEWER = "tests that ran before the change are gone or skipped"


_NOT_LOADED = re.compile(
    r"\b(ImportError|ModuleNotFoundError)\b|\bCannot find (module|package)\b|\bdoes not provide an export\b"
)


def is_not_loaded(message: str) -> bool:
    """Whether a failure is that a module, or a name in one, was not found."""
    return _NOT_LOADED.search(message) is not None


_LONGEST_COMMAND = 1000
_MOST_IN_REASON = 5


def commands_in(task: Task) -> Mapping[int, str]:
    """Return the criteria of a task that are commands, ``$ make test``, by their numbers from 1.

    One in backticks is a command, too.
    """
    criteria = enumerate((_unquoted(text.strip()) for text in task.acceptance_criteria), 1)
    return {number: text[2:].strip() for number, text in criteria if text.startswith("$ ")}


def _unquoted(text: str) -> str:
    quoted = _QUOTED.fullmatch(text)
    return text if quoted is None else quoted[1].strip()


def is_shown_whole(command: str) -> bool:
    """Whether a person who is shown a command sees all of it, as it is: nothing far behind blanks either."""
    return legible(command, _LONGEST_COMMAND) == command and re.search(r"\s{8}", command) is None


class TreeVerdict(NamedTuple):
    """What a check says of one tree; its tests, and the lines that they ran, where it leaves these."""

    result: CheckResult
    tests: CaseResults | None = None
    coverage: TreeCoverage | None = None


def against_results(verdict: TreeVerdict) -> TreeVerdict:
    """Return what a run says that is to leave results: one that exits with 0 has not passed by that alone."""
    result, tests, _ = verdict
    is_green = result.outcome is CheckOutcome.PASSED
    has_run = tests is not None and bool(tests.ran)
    if not has_run and result.outcome is not CheckOutcome.BROKEN:
        outcome = CheckOutcome.BROKEN if is_green else result.outcome
        reason = _NOTHING_RAN if tests is None else _ALL_SKIPPED
        return verdict._replace(result=result.updated(outcome=outcome, reason=reason))
    if is_green and tests is not None and tests.named(CaseState.FAILED):
        return verdict._replace(result=result.updated(outcome=CheckOutcome.FAILED))
    return verdict


def together(tries: Sequence[TreeVerdict]) -> TreeVerdict:
    """Return the verdict of all runs of a check on one tree, of which all but the last failed."""
    first, last = tries[0], tries[-1]
    if len(tries) == 1:
        return first
    result = first.result.updated(tries=len(tries))
    if last.result.outcome is CheckOutcome.PASSED:
        result = result.updated(outcome=CheckOutcome.FLAKY)
    known = [verdict.tests for verdict in tries if verdict.tests is not None]
    if len(known) < len(tries):
        return last._replace(result=result)
    failed = [tests.named(CaseState.FAILED) for tests in known]
    always = frozenset.intersection(*failed)
    flaky = frozenset.union(*failed) - always
    states = {**known[-1].states, **dict.fromkeys(flaky, CaseState.PASSED)}
    failures = tuple(failure for failure in known[-1].failures if failure.name in always)
    if flaky and not always:
        result = result.updated(outcome=CheckOutcome.FLAKY)
    tests = CaseResults(states=states, failures=failures, flaky=tuple(sorted(flaky)))
    return TreeVerdict(result, tests, last.coverage)


def judged(head: TreeVerdict, base: TreeVerdict | None, unreliable: Collection[str] = ()) -> CheckResult:
    """Return the verdict on a change by those on its head and on its base, where that was looked at.

    A test that is known to be ``unreliable`` is no reason against a change by itself, nor is one that fails
    on the base as well; one that ran there and is gone or skipped is.
    """
    result = head.result
    if head.tests is None:
        is_red = result.outcome is CheckOutcome.FAILED
        is_as_before = base is not None and base.tests is None and base.result.outcome is result.outcome
        # Where it is to leave results, and never does, that is why.
        before = CheckOutcome.BROKEN if result.reason else CheckOutcome.FAILED_BEFORE
        return result.updated(outcome=before) if is_red and is_as_before else result
    tests = compared(head.tests, None if base is None else base.tests, unreliable)
    result = result.updated(tests=tests)
    if result.outcome is CheckOutcome.FAILED:
        if tests.new or not head.tests.named(CaseState.FAILED):
            return result
        # Where no test passes at all, as where none can be loaded, the same failures are no pass.
        before = CheckOutcome.PASSED if head.tests.named(CaseState.PASSED) else CheckOutcome.FAILED_BEFORE
        result = result.updated(outcome=before if tests.as_before else CheckOutcome.FLAKY)
    is_less = result.has_passed and (tests.gone or tests.skipped)
    return result.weakened(_FEWER) if is_less else result


def compared(head: CaseResults, base: CaseResults | None, unreliable: Collection[str] = ()) -> ComparedTests:
    """Return what became of the tests between base and head; of a base that is not known nothing is said."""
    failed, before = head.named(CaseState.FAILED), base or head
    failed_before = before.named(CaseState.FAILED) if base is not None else frozenset[str]()
    chance = failed & set(unreliable) - failed_before
    new = failed - failed_before - chance
    ran_before = before.named(CaseState.PASSED) | before.named(CaseState.FAILED)
    return ComparedTests(
        ran=head.ran,
        failing=tuple(failure for failure in head.failures if failure.name in new)[:MOST_NAMED],
        as_before=some(failed & failed_before),
        flaky=some({*head.flaky, *chance}),
        mended=some(failed_before & head.named(CaseState.PASSED)),
        gone=some(before.states.keys() - head.states.keys()),
        skipped=some(head.named(CaseState.SKIPPED) & ran_before),
        new=len(new),
    )


def some(names: Iterable[str]) -> tuple[str, ...]:
    """Return what a record names of many tests."""
    return tuple(sorted(names)[:MOST_NAMED])


def with_edits(result: CheckResult, tests: Sequence[EditedTest], programs: Sequence[str]) -> CheckResult:
    """Return a verdict on a change that edits tests, or what the check runs.

    What passes with the change's own programs, or with tests that assert less, is for a person. An exit code
    alone says the same whatever it ran, so 0 is not enough where the change takes tests away either.
    """
    if not result.has_passed:
        return result
    if programs:
        return result.weakened(f"the change edits {', '.join(programs[:_MOST_IN_REASON])}")
    if weaker := [name or test.path for test in tests for name in test.weaker]:
        return result.weakened(f"tests assert less than before: {', '.join(weaker[:_MOST_IN_REASON])}")
    is_less = any(test.deletions > test.additions or test.status is FileStatus.DELETED for test in tests)
    return result.weakened("the change takes tests away") if result.is_bare and is_less else result


def red_green(head: CaseResults, base: CaseResults | None, old: TreeVerdict) -> RedGreen:
    """Return which tests fail with the sources of the base, and pass with those of the change.

    ``old`` is the verdict on the sources of the base with the tests of the change. A test that it does not
    have, as where its file cannot be loaded, or which misses a module there, did not fail for what it tests.
    """
    passed, ran = head.named(CaseState.PASSED), old.tests or CaseResults(states={})
    added = passed - (base.states.keys() if base is not None else frozenset())
    failed = ran.named(CaseState.FAILED)
    messages = {case.name: case.message for case in ran.failures}
    missing = frozenset(name for name, says in messages.items() if is_not_loaded(says or ""))
    unloaded = (added - ran.states.keys()) | (passed & failed & missing)
    # Where a file cannot be loaded, it fails in the place of its tests.
    whole = (messages[name] for name in sorted(messages.keys() - passed))
    says = (*(messages[name] for name in sorted(unloaded & missing)), *whole, old.result.words)
    return RedGreen(
        red=some(passed & failed - unloaded),
        green=some(added - failed - unloaded),
        unloaded=some(unloaded),
        reason=next(filter(None, says)) if unloaded else None,
    )
