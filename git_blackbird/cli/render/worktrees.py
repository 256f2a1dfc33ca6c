"""How runs of the same tasks in other worktrees are shown."""

from collections.abc import Iterator, Sequence

import click

from git_blackbird.controller.queries.other_worktrees import RunElsewhere
from git_blackbird.model.base.sanitize import clean_line


def worktree_lines(found: Sequence[RunElsewhere]) -> Iterator[str]:
    """Write a section of its own; nothing where there are none."""
    if found:
        yield ""
        yield click.style("in other worktrees", bold=True)
    for one in found:
        yield f"  {clean_line(one.run.task_id)}  {clean_line(one.text, 2000)}"
