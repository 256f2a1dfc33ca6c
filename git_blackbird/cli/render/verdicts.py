"""A verdict on the children of a parent, in its colours."""

from collections.abc import Iterator

import click

from git_blackbird.messages.display.reviews import verdict_lines
from git_blackbird.model.entities.parent_verdict import ChildStatus
from git_blackbird.model.entities.run import Run

_COLORS = {ChildStatus.PASSED: "green", ChildStatus.FAILED: "red"}


def paint(status: ChildStatus) -> str:
    """Write what is said of one child."""
    return click.style(status.value, fg=_COLORS[status])


def painted_verdict(run: Run) -> Iterator[str]:
    """Write what a review says of each child, and of all; nothing for a run without a verdict."""
    return verdict_lines(run, paint)
