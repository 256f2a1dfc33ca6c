"""The verdicts of checks that are kept in the git directory, outside of any clone.

One that is missing or cannot be read counts as none. What saves one raises SaveError.
"""

import hashlib
from collections.abc import Mapping

from pydantic import Field

from git_blackbird.model.base.record import Record
from git_blackbird.model.rules.evidence import TreeVerdict
from git_blackbird.model.run.coverage import TreeCoverage
from git_blackbird.model.run.evidence import CaseResults, CheckResult
from git_blackbird.model.run.states import CheckOutcome
from git_blackbird.storage.files import write_private
from git_blackbird.storage.json_codec import dump_json, load_note
from git_blackbird.storage.paths import Paths

_MAX_CHECKS = 100
_MAX_COVERAGE = 20
_MAX_FLAKY = 500


class _Checks(Record):
    """The last verdicts of checks, oldest first, and how often each test or check was flaky."""

    results: tuple[CheckResult, ...] = ()
    flaky: Mapping[str, int] = Field(default_factory=dict)


def load_check(paths: Paths, wanted: CheckResult) -> TreeVerdict | None:
    """Return the verdict of a command on what it depends on, prepared in the same way, or None.

    One whose lines are wanted and not there is none: it says less than it would.
    """
    checks, key = load_note(_Checks, paths.checks) or _Checks(), _key(wanted)
    found = next((one for one in checks.results if _key(one) == key), None)
    if found is None:
        return None
    digest, tests, coverage = _digest(found), None, None
    if found.results and (tests := load_note(CaseResults, paths.case_results(digest))) is None:
        return None
    if wanted.coverage:
        coverage = load_note(TreeCoverage, paths.case_lines(digest))
        if coverage is None or found.coverage != wanted.coverage:
            return None
    found = found.updated(
        tree=wanted.tree, name=wanted.name, criterion=wanted.criterion, coverage=wanted.coverage
    )
    # One without tests says that none ran.
    return TreeVerdict(found, tests if tests is not None and tests.states else None, coverage)


def load_flaky(paths: Paths) -> Mapping[str, int]:
    """Return how often each test was flaky, by its name; a check that leaves no results by its command."""
    return (load_note(_Checks, paths.checks) or _Checks()).flaky


def save_check(paths: Paths, verdict: TreeVerdict) -> None:
    """Add one verdict; the oldest make room for it."""
    checks, (result, tests, coverage) = load_note(_Checks, paths.checks) or _Checks(), verdict
    digest = _digest(result)
    if result.results:
        ran = tests or CaseResults(states={})
        write_private(paths.case_results(digest), dump_json(ran.to_json()))
    if coverage is not None:
        write_private(paths.case_lines(digest), dump_json(coverage.to_json()))
    names = () if tests is None else tests.flaky
    if not names and result.outcome is CheckOutcome.FLAKY:
        names = (result.command or "",)
    flaky = {**checks.flaky, **{name: checks.flaky.get(name, 0) + 1 for name in names}}
    most = sorted(flaky.items(), key=lambda item: -item[1])[:_MAX_FLAKY]
    results = (*(one for one in checks.results if _key(one) != _key(result)), result)
    for old in results[:-_MAX_CHECKS]:
        paths.case_results(_digest(old)).unlink(missing_ok=True)
    for old in results[:-_MAX_COVERAGE]:
        if old.coverage:
            paths.case_lines(_digest(old)).unlink(missing_ok=True)
    saved = _Checks(results=results[-_MAX_CHECKS:], flaky=dict(most))
    write_private(paths.checks, dump_json(saved.to_json()))


def _key(check: CheckResult) -> tuple[object, ...]:
    return check.part or check.tree, check.command, check.prepared or (), check.results or ()


def _digest(check: CheckResult) -> str:
    return hashlib.sha256(repr(_key(check)).encode()).hexdigest()[:40]
