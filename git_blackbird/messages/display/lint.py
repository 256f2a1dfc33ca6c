"""Findings about the structure of a plan, as lines."""

from collections.abc import Iterator, Sequence

from git_blackbird.messages.display.quantities import counted, some_of
from git_blackbird.messages.document import Line, Span, Style, line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.rules.lint import LintFinding, Severity

_MAX_NAMED = 4
_STYLES = {Severity.BLOCKING: Style.FAULT, Severity.WARNING: Style.WARNING}


def lint_lines(findings: Sequence[LintFinding]) -> Iterator[Line]:
    """Say each finding, what to do about it, and where it is; then how many there are.

    What is to be said of several tasks alike is said once.
    """
    for one, *others in _alike(findings):
        tasks = [same.task_id for same in (one, *others) if same.task_id is not None]
        where = f"{tasks[0]}: " if len(tasks) == 1 else f"{counted(len(tasks), 'task')}: " if tasks else ""
        text = clean_line(f"{where}{one.message} ({one.code})", 1000)
        yield line(Span(f"{one.severity}:", _STYLES[one.severity]), f" {text}")
        yield line(f"    {clean_line(one.suggestion, 1000)}")
        yield from (line(f"    {clean_line(place)}") for place in _places(one, tasks))
    blocking = sum(one.severity is Severity.BLOCKING for one in findings)
    warnings = counted(len(findings) - blocking, "warning")
    yield line(f"{blocking} blocking, {warnings}" if findings else "nothing to say about the plan")


def _alike(findings: Sequence[LintFinding]) -> Iterator[list[LintFinding]]:
    """Yield the findings of tasks that say the same together, each of the whole plan by itself."""
    groups: dict[object, list[LintFinding]] = {}
    for place, one in enumerate(findings):
        said = (one.severity, one.code, one.message, one.suggestion)
        groups.setdefault(place if one.task_id is None else said, []).append(one)
    yield from groups.values()


def _places(finding: LintFinding, tasks: Sequence[TaskId]) -> Iterator[str]:
    """Yield where a finding is that does not name its task."""
    if len(tasks) > 1:
        yield some_of(tasks, _MAX_NAMED)
    elif not tasks:
        yield from finding.places
