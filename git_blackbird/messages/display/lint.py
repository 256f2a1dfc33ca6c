"""Findings about the structure of a plan, as lines."""

from collections.abc import Iterator, Sequence

from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.rules.lint import LintFinding, Severity


def lint_lines(findings: Sequence[LintFinding]) -> Iterator[str]:
    """Say each finding, what to do about it, and where it is; then how many there are."""
    for one in findings:
        where = "" if one.task_id is None else f"{one.task_id}: "
        yield clean_line(f"{one.severity}: {where}{one.message} ({one.code})", 1000)
        yield f"    {clean_line(one.suggestion, 1000)}"
        if one.task_id is None:
            yield from (f"    {clean_line(place)}" for place in one.places)
    blocking = sum(one.severity is Severity.BLOCKING for one in findings)
    warnings = counted(len(findings) - blocking, "warning")
    yield f"{blocking} blocking, {warnings}" if findings else "nothing to say about the plan"
