"""What is known of a change from running it, in words: the verdicts of checks, their tests, and hunks."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import counted, render_duration, some_of
from git_blackbird.messages.document import block, plain
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.model.run.summary import FileStatus

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import (
        ChangeCoverage,
        CheckResult,
        ComparedTests,
        Evidence,
        RedGreen,
    )
    from git_blackbird.model.run.proof import Hunk, Proof, ProvenPart
    from git_blackbird.model.run.summary import EditedTest

_MAX_LINES = 10
_MAX_NAMES = 5


NO_CHECK = "no check is for its files"


def evidence_word(evidence: "Evidence") -> str:
    """Return the verdicts on a change on one line, and how many lines and hunks no test runs or notices."""
    coverage = "" if evidence.coverage is None else coverage_word(evidence.coverage)
    proof = "" if evidence.proof is None else proof_word(evidence.proof)
    return "; ".join(filter(None, (*_verdict_words(evidence.checks), proof, coverage))) or NO_CHECK


def _verdict_words(checks: "Sequence[CheckResult]") -> Iterator[str]:
    if len(checks) < 2:
        yield from map(_named_word, checks)
        return
    names = defaultdict[str, list[str]](list)
    for check in checks:
        names[check.label].append(check.name or check.title)
    yield from (f"{label}: {some_of(of_label, _MAX_NAMES)}" for label, of_label in names.items())


def evidence_lines(evidence: "Evidence") -> Iterator[str]:
    """Yield the verdicts on a change, below each what became of its tests, and what it printed."""
    for check in evidence.checks:
        yield _named_word(check)
        indent = "  " if len(evidence.checks) > 1 else ""
        yield from (f"{indent}{line}" for line in check_details(check))
    if not evidence.checks:
        yield NO_CHECK
    yield from lines_beside(evidence)


def lines_beside(evidence: "Evidence") -> Iterator[str]:
    """Yield what is known of a change beside the verdicts of checks, what nothing notices first."""
    yield from proof_lines(evidence.proof)
    yield from coverage_lines(evidence.coverage)
    yield from edit_lines(evidence.edited_tests or (), evidence.edited_programs or ())
    if evidence.red_green is not None:
        yield from red_green_lines(evidence.red_green)


def red_green_lines(found: "RedGreen") -> Iterator[str]:
    """Yield which tests are seen to fail without a change, and which say nothing of it."""
    if found.red:
        yield f"tests first: without the change {some_of(found.red, _MAX_NAMES)} failed"
    else:
        yield "tests first: missing, no test is known to fail without the change"
    yield from _named("  pass without it as well", found.green)
    reason = f" ({found.reason})" if found.reason else ""
    yield from (f"{line}{reason}" for line in _named("  cannot be loaded without it", found.unloaded))


def edit_lines(tests: "Sequence[EditedTest]", programs: Sequence[str]) -> Iterator[str]:
    """Yield what a change takes away from tests, and what of checks it edits."""
    yield from _named("tests edited or removed", list(map(_edited, tests)))
    yield from _named("run by a check, and edited", programs)


def _edited(test: "EditedTest") -> str:
    if test.status is FileStatus.DELETED:
        return f"{test.path} (removed)"
    moved = "" if test.old_path is None else f"now {test.path}"
    lines = "" if test.binary else f"+{test.additions} -{test.deletions}"
    names = some_of([*filter(None, test.weaker)], _MAX_NAMES)
    weaker = f"asserts less{names and f': {names}'}" if test.weaker else ""
    facts = "; ".join(filter(None, (moved, lines, weaker)))
    return f"{test.old_path or test.path}{facts and f' ({facts})'}"


def _named_word(check: "CheckResult") -> str:
    named = check.name or check.title.removeprefix("check")
    return f"{named}: {check_word(check)}" if named else check_word(check)


def check_word(check: "CheckResult") -> str:
    """Return the verdict of a check on a change on one line."""
    tests = check.tests
    ran = ""
    if tests is not None and check.has_passed:
        ran = f": {'no new failure in ' if tests.as_before else ''}{counted(tests.ran, 'test')}"
    took = f" ({render_duration(check.seconds or 0)})" if check.outcome is CheckOutcome.PASSED else ""
    return f"{check.words}{ran}{took}"


def check_details(check: "CheckResult") -> Iterator[str]:
    """Yield what became of the tests of a check, and the end of what one printed that failed."""
    yield from _named("as before", check.restored or ())
    if check.tests is not None:
        yield from case_lines(check.tests)
    is_told = check.tests is not None and (check.has_passed or check.tests.failing)
    if not is_told and check.outcome not in {CheckOutcome.PASSED, CheckOutcome.WEAKENED}:
        yield from list(plain(block(check.output or "")))[-_MAX_LINES:]


def case_lines(tests: "ComparedTests") -> Iterator[str]:
    """Yield what a change did to tests, and which of them say nothing of it."""
    if tests.new:
        yield f"{counted(tests.new, 'test')} {'fails' if tests.new == 1 else 'fail'} because of this change:"
    for case in tests.failing[:_MAX_LINES]:
        yield f"  {case.name}" + (f": {case.message}" if case.message else "")
    if tests.new > _MAX_LINES:
        yield f"  and {tests.new - _MAX_LINES} more"
    yield from _named("gone", tests.gone)
    yield from _named("skipped, and ran before", tests.skipped)
    yield from _named("failed before as well", tests.as_before)
    yield from _named("flaky, failed and passed on the same files", tests.flaky)
    yield from _named("failed before, and pass now", tests.mended)


def _named(what: str, names: Sequence[str]) -> Iterator[str]:
    from git_blackbird.model.run.evidence import MOST_NAMED  # loaded by now

    if len(names) == MOST_NAMED:
        # A record names no more.
        yield f"{what}: {', '.join(names[:_MAX_NAMES])} and at least {MOST_NAMED - _MAX_NAMES} more"
    elif names:
        yield f"{what}: {some_of(names, _MAX_NAMES)}"


def coverage_word(coverage: "ChangeCoverage") -> str:
    """Return on one line how many added lines no test ran; "" where there are none that tests can run."""
    lines = f"{counted(coverage.lines, 'added line')} that can run"
    if coverage.missed:
        return f"no test ran {coverage.missed} of {lines}"
    return f"tests ran all of {lines}" if coverage.lines else ""


def coverage_lines(coverage: "ChangeCoverage | None") -> Iterator[str]:
    """Yield that, below it where these lines are, and of which files nothing is known."""
    if coverage is None:
        return
    if coverage.lines:
        yield coverage_word(coverage)
    for file in coverage.files[:_MAX_LINES]:
        yield f"  {render_path(file.path)}: {some_of(file.lines.split(','), _MAX_LINES)}"
    if more := coverage.files[_MAX_LINES:]:
        yield f"  and {counted(len(more), 'more file')}"
    yield from _named("in no report of the lines that tests ran", [*map(render_path, coverage.absent)])
    if coverage.fault:
        yield f"which lines tests ran is not known: {coverage.fault}"


def proof_word(proof: "Proof") -> str:
    """Return how many hunks are noticed, as in ``noticed: 14 of 17 hunks, 2 by nothing, 1 open``."""
    if proof.fault is not None:
        return f"noticed: not known, {proof.fault}"
    return noticed_word({str(verdict): count for verdict, count in proof.counts.items()})


def noticed_word(counts: Mapping[str, int]) -> str:
    """Return how many hunks are noticed, of those with each verdict."""
    noticed, total = counts.get("noticed", 0), sum(counts.values())
    unsure = {name: counts.get(name, 0) for name in ("inconclusive", "open")}
    others = {"by nothing": total - noticed - sum(unsure.values()), **unsure}
    first = f"noticed: {noticed} of {counted(total, 'hunk')}"
    return ", ".join([first, *(f"{count} {word}" for word, count in others.items() if count)])


def proof_lines(proof: "Proof | None", most: int | None = _MAX_LINES) -> Iterator[str]:
    """Yield that, and below it what is not noticed, by nothing first, at most so many lines of that."""
    if proof is None:
        return
    yield proof_word(proof)
    left_out = (f"{render_path(each.path)}: not looked at, {each.reason}" for each in proof.left_out)
    lines = [*map(_part_line, proof.unproven), *left_out]
    yield from (f"  {line}" for line in lines[:most])
    if most is not None and len(lines) > most:
        yield f"  and {len(lines) - most} more"


def _part_line(part: "ProvenPart") -> str:
    users = f"{counted(part.along or 0, 'hunk')} that {'uses' if part.along == 1 else 'use'} it"
    along = f", with {users}" if part.along else ""
    reason = f": {part.reason}" if part.reason else ""
    return f"{places(part)}: {part.verdict}{along}{reason}"


def places(part: "ProvenPart") -> str:
    return ", ".join(map(place_of, part.hunks))


def place_of(hunk: "Hunk") -> str:
    """Return where a hunk is, as in ``app.py:12-15``; what was deleted was before that line."""
    first, last = hunk.new + 1, hunk.new + hunk.new_count
    return f"{render_path(hunk.path)}:{first}-{last}" if last > first else f"{render_path(hunk.path)}:{first}"
