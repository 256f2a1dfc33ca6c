"""Beads: one issue a line, in JSON, and lines of other kinds."""

from collections import Counter
from typing import Any

from git_blackbird.clean import one_line
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.forms.imports.common import (
    Item,
    LeftOut,
    Source,
    read_all,
    source_of,
    split_criteria,
)
from git_blackbird.messages.forms.natural import NaturalTask, load_json_text
from git_blackbird.messages.forms.page import PageError, PageFault

_TIMES = ("created_at", "updated_at", "closed_at", "created_by", "owner", "content_hash", "source_repo")
_COUNTS = ("dependency_count", "dependent_count", "comment_count", "compaction_level", "original_size")
# What a line is; older versions do not say it of issues.
_KIND, _ISSUE = "_type", "issue"
_HEADER = "_schema"


class _Link(Item):
    depends_on_id: str
    type: str = "blocks"


class _Issue(Item):
    id: str
    title: str
    description: str | None = None
    design: str | None = None
    acceptance_criteria: str | None = None
    notes: str | None = None
    status: str = "open"
    dependencies: list[_Link] | None = None


def load_lines(text: str) -> list[Any]:
    """Parse each line as JSON. Raises PageError with the lines that are none."""
    values, faults = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            values += [load_json_text(line)] if line.strip() else []
        except PageError as error:
            faults.append(PageFault.of(error.message.removeprefix("line 1: "), number))
    if faults:
        raise PageError(faults)
    return values


def is_beads(value: Any) -> bool:
    """Whether a value is a line as Beads writes it."""
    return isinstance(value, dict) and (
        not value.keys().isdisjoint({_KIND, _HEADER})
        or ("id" in value and ("issue_type" in value or "dependency_count" in value))
    )


def _kind(line: Any) -> str:
    """Return what a line says that it is; one that says nothing must be an issue."""
    if not isinstance(line, dict):
        return _ISSUE
    return one_line(str(line.get(_KIND, "header" if _HEADER in line else _ISSUE)), 40)


def read_beads(values: Any) -> Source:
    """Read issues: what blocks one comes before it, and an epic is the parent of its issues.

    Raises PageError.
    """
    left_out = LeftOut()
    lines = values if isinstance(values, list) else [values]
    others = Counter(kind for kind in map(_kind, lines) if kind != _ISSUE)
    issues = read_all(_Issue, [line for line in lines if _kind(line) == _ISSUE], "issue")
    left_out.add(*("deletion" for issue in issues if issue.status == "tombstone"))
    source = source_of([_task(one, left_out) for one in issues if one.status != "tombstone"], left_out)
    records = (counted(count, f"{kind} record") for kind, count in sorted(others.items()))
    return source._replace(left_out=(*source.left_out, *records))


def _task(issue: _Issue, left_out: LeftOut) -> NaturalTask:
    left_out.add_unknown(issue, known=(_KIND, *_TIMES, *_COUNTS))
    links = issue.dependencies or []
    left_out.add(*(f"link {link.type}" for link in links if link.type not in {"blocks", "parent-child"}))
    rest, criteria = split_criteria(issue.acceptance_criteria or "")
    plain = [line.strip().removeprefix("- ").removeprefix("* ") for line in rest.splitlines() if line.strip()]
    return NaturalTask(
        id=issue.id,
        title=" ".join(issue.title.split()),
        prompt="\n\n".join(filter(None, (issue.description, issue.design))),
        notes=issue.notes or None,
        criteria=[*criteria, *plain],
        parent=next((link.depends_on_id for link in links if link.type == "parent-child"), None),
        deps=[link.depends_on_id for link in links if link.type == "blocks"],
        status=left_out.state(issue.status, ["closed"]),
    )
