"""Beads: one issue a line, in JSON."""

from typing import Any

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
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        try:
            values += [load_json_text(line)] if line.strip() else []
        except PageError as error:
            faults.append(PageFault.of(error.message.removeprefix("line 1: "), number))
    if faults:
        raise PageError(faults)
    return values


def is_beads(value: Any) -> bool:
    """Whether a value is an issue as Beads writes it."""
    return (
        isinstance(value, dict) and "id" in value and ("issue_type" in value or "dependency_count" in value)
    )


def read_beads(values: Any) -> Source:
    """Read issues: what blocks one comes before it, and an epic is the parent of its issues.

    Raises PageError.
    """
    left_out = LeftOut()
    issues = read_all(_Issue, values, "issue")
    left_out.add(*("deletion" for issue in issues if issue.status == "tombstone"))
    return source_of([_task(one, left_out) for one in issues if one.status != "tombstone"], left_out)


def _task(issue: _Issue, left_out: LeftOut) -> NaturalTask:
    left_out.add_unknown(issue, known=(*_TIMES, *_COUNTS))
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
