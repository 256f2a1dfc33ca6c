"""Issues as ``gh issue list --json number,title,body,labels,state`` prints them."""

import re
from typing import Any

from git_blackbird.messages.forms.imports.common import (
    Item,
    LeftOut,
    Source,
    read_all,
    source_of,
    split_criteria,
)
from git_blackbird.messages.forms.natural import NaturalTask

_AFTER = re.compile(
    r"^[\s>*_-]*(?:depends on|blocked by)\b[:*_\s]*(#\d+(?:[\s,]*(?:and\s+)?#\d+)*)",
    re.IGNORECASE | re.MULTILINE,
)
_LIST_LIMIT = 30


class _Issue(Item):
    number: int
    title: str
    body: str | None = None
    state: str = "OPEN"
    stateReason: str | None = None  # noqa: N815  # its name in the output


def is_github(value: Any) -> bool:
    """Whether a value is a list of issues."""
    return isinstance(value, list) and all(isinstance(one, dict) and "number" in one for one in value)


def read_github(value: Any) -> Source:
    """Read issues, the oldest first; ``Depends on #3`` is what comes before one. Raises PageError."""
    left_out = LeftOut()
    issues = sorted(read_all(_Issue, value, "issue"), key=lambda issue: issue.number)
    source = source_of([_task(issue, left_out) for issue in issues], left_out)
    limit = f"what `gh issue list` does not print without --limit: more than {_LIST_LIMIT} issues"
    return source._replace(left_out=(*source.left_out, limit)) if len(issues) == _LIST_LIMIT else source


def _task(issue: _Issue, left_out: LeftOut) -> NaturalTask:
    left_out.add_unknown(issue, known=("id", "url", "createdAt", "updatedAt", "closedAt", "closed", "author"))
    prompt, criteria = split_criteria(issue.body or "")
    is_unwanted = issue.stateReason in {"NOT_PLANNED", "DUPLICATE"}
    return NaturalTask(
        id=f"gh-{issue.number}",
        title=" ".join(issue.title.split()),
        prompt=prompt,
        criteria=list(criteria),
        deps=[f"gh-{int(name)}" for found in _AFTER.findall(prompt) for name in re.findall(r"\d+", found)],
        status=left_out.state(issue.state, () if is_unwanted else ["closed"], ["closed"]),
    )
