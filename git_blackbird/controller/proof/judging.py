"""What a run of a check without some hunks says of them, beside the run with all of the change."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from git_blackbird.clean import one_line
from git_blackbird.model.rules.evidence import TreeVerdict, is_not_loaded
from git_blackbird.model.run.evidence import CaseResults, CaseState, CheckResult, FailedCase
from git_blackbird.model.run.proof import HunkVerdict, Judged
from git_blackbird.model.run.states import CheckOutcome

_REASON_CHARACTERS = 300
_TIMES_GREEN, _LEAST_SECONDS = 3, 5
_NOT_BUILT = re.compile(
    r"^(?:E\s+)?(?:[\w.]+: )?(?:SyntaxError|IndentationError|TabError|NameError|UnboundLocalError)\b"
    r"|^(?:E\s+)?(?:Uncaught )?ReferenceError\b"
    r"|\[(?:build|setup) failed\]|\bcould not compile\b|\berror\[E\d+\]|\berror TS\d+:|\bCOMPILATION ERROR\b"
    r"|: (?:line )?\d+: (?:\S+: (?:command )?not found$|syntax error\b)|:\d+:\d+: undefined: "
    r"|\bundefined reference to\b"
)
_UNREADABLE = re.compile(r"\b(?:SyntaxError|IndentationError|TabError|syntax error)\b")
# Before the line that says so, parsers print the file and the line that they cannot read.
_LINES_OF_PLACE = 5
_GONE = "tests are gone without it"
_BY_CHANCE = "only what fails by chance fails without it"
_STRONGEST_FIRST = (
    HunkVerdict.NOTICED,
    HunkVerdict.OPEN,
    HunkVerdict.INCONCLUSIVE,
    HunkVerdict.UNNOTICED,
    HunkVerdict.UNRUN,
    HunkVerdict.UNSEEN,
)


PASSED = Judged(verdict=HunkVerdict.UNNOTICED)
PASSED_ONCE = Judged(verdict=HunkVerdict.OPEN, reason="the check passed once without it")


def together(verdicts: Collection[Judged]) -> Judged:
    """Return what several checks say together: what one of them notices is noticed."""
    strength = {verdict: index for index, verdict in enumerate(_STRONGEST_FIRST)}
    return min(verdicts, key=lambda one: strength[one.verdict], default=Judged(verdict=HunkVerdict.UNSEEN))


def why_useless(green: TreeVerdict) -> str | None:
    """Return why nothing can be told by a check from what it says of all of the change."""
    result, tests = green.result, green.tests
    if result.has_passed or (tests is not None and tests.named(CaseState.PASSED)):
        return None
    words = one_line(result.words, _REASON_CHARACTERS)
    return f"the {result.title} does not pass with all of the change: {words}"


def most_seconds(green: CheckResult, slots: int) -> int:
    """Return how long a check may take without a hunk: runs side by side slow each other down."""
    return max(_LEAST_SECONDS, math.ceil(_TIMES_GREEN * slots * (green.seconds or 0)))


def judged(green: TreeVerdict, run: TreeVerdict, unreliable: Collection[str]) -> Judged:
    """Return what one run of a check without some hunks says; ``green`` is what it says with all.

    Names of tests and commands that fail by chance are ``unreliable``.
    """
    result = run.result
    if result.outcome is not CheckOutcome.BROKEN and green.tests is None:
        return _by_exit_code(green.result, result, unreliable)
    if result.outcome is CheckOutcome.BROKEN or green.tests is None or run.tests is None:
        return _inconclusive(result.reason)
    if by := _failing(green.tests, run.tests, unreliable):
        return _noticed_by(min(by))
    if (why := _why_unloaded(green.tests, run.tests)) is not None:
        return _inconclusive(why)
    if result.outcome is CheckOutcome.FAILED and green.result.has_passed:
        # Another program of the check than its tests fails, or a test that often does.
        is_by_tests = bool(run.tests.named(CaseState.FAILED))
        return _inconclusive(_BY_CHANCE) if is_by_tests else _noticed_by(result.title)
    return PASSED


def told_apart(
    green: TreeVerdict,
    run: TreeVerdict,
    unreliable: Collection[str],
    trials: Sequence[tuple[AbstractSet[str], Collection[str]]],
) -> Sequence[Judged | None]:
    """Return what one run without several trials says of each; None where it cannot tell.

    ``trials`` have the tests that run their lines, and their files.
    """
    whole = judged(green, run, unreliable)
    is_broken = run.result.outcome is CheckOutcome.BROKEN
    if whole == PASSED or is_broken or green.tests is None or run.tests is None:
        return [PASSED if whole == PASSED else None] * len(trials)
    failing, unloaded = _failing(green.tests, run.tests, unreliable), _unloaded(green.tests, run.tests)
    failed = run.tests.named(CaseState.FAILED) - green.tests.named(CaseState.FAILED)
    # Where a test fails that is said to run none of them, more tests depend on one than run its lines.
    is_known = failing <= frozenset[str]().union(*(tests for tests, _ in trials))
    # Where tests are gone, as after a panic, those of the others may be among them.
    is_explained = bool(failed) and failed <= failing | unloaded.keys()
    is_whole = is_known and is_explained and not _gone(green.tests, run.tests)
    unread = [place for place, (_, paths) in enumerate(trials) if _are_unread(run.tests, paths)]
    found: list[Judged | None] = []
    for place, (tests, _) in enumerate(trials):
        own = tests if is_known else frozenset[str]()
        if by := failing.intersection(own):
            found.append(_noticed_by(min(by)))
        elif why := sorted(unloaded.keys() & own):
            found.append(_inconclusive(unloaded[why[0]]))
        elif unread == [place]:
            found.append(_inconclusive(_why_unloaded(green.tests, run.tests)))
        else:
            found.append(PASSED if is_whole else None)
    return found


def _failing(green: CaseResults, run: CaseResults, unreliable: Collection[str]) -> frozenset[str]:
    """Return the tests that fail without some hunks, but for those that do by chance, or do not load."""
    both = green.named(CaseState.PASSED) & run.named(CaseState.FAILED)
    return both - {*unreliable, *green.flaky} - _unloaded(green, run).keys()


def _gone(green: CaseResults, run: CaseResults) -> AbstractSet[str]:
    return green.named(CaseState.PASSED) - run.states.keys()


def _unloaded(green: CaseResults, run: CaseResults) -> Mapping[str, str]:
    """Return why failures say nothing; that a test misses a module does, where each test that passed ran."""
    is_gone = bool(_gone(green, run))
    says = ((case.name, _why_not_built(case.message or "", is_gone=is_gone)) for case in run.failures)
    return {name: why for name, why in says if why is not None}


def _why_not_built(text: str, *, is_gone: bool = True) -> str | None:
    """Return the line that says that something is not found where it is used, or cannot be read."""
    says = (
        line for line in text.splitlines() if _NOT_BUILT.search(line) or (is_gone and is_not_loaded(line))
    )
    return next(says, None)


def _are_unread(run: CaseResults, paths: Iterable[str]) -> bool:
    """Whether failures say that one of some files cannot be read."""
    named = re.compile(rf"(?<![\w./-])(?:\./)?(?:{'|'.join(map(re.escape, paths))})(?![\w/-])")
    for case in run.failures:
        lines = _lines(case)
        for end in (number for number, line in enumerate(lines, 1) if _UNREADABLE.search(line)):
            if any(map(named.search, lines[max(0, end - _LINES_OF_PLACE) : end])):
                return True
    return False


def _why_unloaded(green: CaseResults, run: CaseResults) -> str | None:
    """Return why tests say nothing; None where all that passed ran."""
    unloaded, gone = _unloaded(green, run), _gone(green, run)
    # A file that cannot be loaded fails in the place of its tests.
    new = (_cause(case) for case in run.failures if case.name not in green.states)
    reasons = filter(None, (*unloaded.values(), *new))
    return next(reasons, _GONE) if unloaded or gone else None


def _lines(case: FailedCase) -> Sequence[str]:
    return f"{case.message or ''}\n{case.output or ''}".splitlines()


def _cause(case: FailedCase) -> str | None:
    """Return the line of a failure that says why, which pytest marks."""
    lines = _lines(case)
    marked = (line[1:].strip() for line in lines if line.startswith("E "))
    return next((line for line in (*marked, *lines) if line), None)


def _by_exit_code(green: CheckResult, result: CheckResult, unreliable: Collection[str]) -> Judged:
    if result.outcome is not CheckOutcome.FAILED:
        return PASSED
    if green.outcome is CheckOutcome.FLAKY or green.command in unreliable:
        return _inconclusive(_BY_CHANCE)
    why = _why_not_built(result.output or "")
    return _noticed_by(result.title) if why is None else _inconclusive(why)


def _noticed_by(name: str) -> Judged:
    return Judged(verdict=HunkVerdict.NOTICED, by=name)


def _inconclusive(reason: str | None) -> Judged:
    text = one_line(reason or "it did not run", _REASON_CHARACTERS)
    return Judged(verdict=HunkVerdict.INCONCLUSIVE, reason=text)
