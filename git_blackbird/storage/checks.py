"""The verdicts of checks that are kept in the git directory, outside of any clone, a file each.

One that is missing or cannot be read counts as none. What saves one raises SaveError.
"""

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

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
_MAX_BYTES = 100_000_000
_MAX_FLAKY = 500


class _Kept(Record):
    """What is kept of a ``TreeVerdict``."""

    result: CheckResult
    tests: CaseResults | None = None
    coverage: TreeCoverage | None = None


class _Flaky(Record):
    counts: Mapping[str, int] = Field(default_factory=dict)


def load_check(paths: Paths, wanted: CheckResult) -> TreeVerdict | None:
    """Return the verdict of a command on what it depends on, prepared in the same way, or None.

    One whose lines are wanted and not there is none: it says less than it would.
    """
    kept = load_note(_Kept, _file(paths, wanted))
    if kept is None:
        return None
    is_less = kept.coverage is None or kept.result.coverage != wanted.coverage
    if wanted.coverage and is_less:
        return None
    result = kept.result.updated(
        tree=wanted.tree, name=wanted.name, criterion=wanted.criterion, coverage=wanted.coverage
    )
    return TreeVerdict(result, kept.tests, kept.coverage if wanted.coverage else None)


def load_flaky(paths: Paths) -> Mapping[str, int]:
    """Return how often each test was flaky, by its name; a check that leaves no results by its command."""
    return (load_note(_Flaky, paths.flaky) or _Flaky()).counts


def save_check(paths: Paths, verdict: TreeVerdict) -> None:
    """Add one verdict; the oldest make room for it."""
    result, tests, coverage = verdict
    kept = _Kept(result=result, tests=tests, coverage=coverage)
    write_private(_file(paths, result), dump_json(kept.to_json()))
    names = () if tests is None else tests.flaky
    if not names and result.outcome is CheckOutcome.FLAKY:
        names = (result.command or "",)
    if names:
        flaky = load_flaky(paths)
        counts = {**flaky, **{name: flaky.get(name, 0) + 1 for name in names}}
        most = sorted(counts.items(), key=lambda item: -item[1])[:_MAX_FLAKY]
        write_private(paths.flaky, dump_json(_Flaky(counts=dict(most)).to_json()))
    _make_room(paths.checks)


def _make_room(folder: Path) -> None:
    """Remove the oldest verdicts of many, or of large ones."""
    size = 0
    # Another process may remove one just now.
    with contextlib.suppress(FileNotFoundError):
        found = [(path.stat(), path) for path in folder.iterdir()]
        found.sort(key=lambda item: item[0].st_mtime_ns, reverse=True)
        for count, (status, path) in enumerate(found):
            size += status.st_size
            if count >= _MAX_CHECKS or size > _MAX_BYTES:
                path.unlink()


def _file(paths: Paths, check: CheckResult) -> Path:
    depends_on = check.part or check.tree, check.command, check.prepared or (), check.results or ()
    return paths.checks / f"{hashlib.sha256(repr(depends_on).encode()).hexdigest()[:40]}.json"
