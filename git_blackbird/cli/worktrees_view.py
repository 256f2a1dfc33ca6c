"""How runs of the same tasks in other worktrees are shown."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from git_blackbird.controller.other_worktrees import RunElsewhere
from git_blackbird.model.text import clean_line


def worktree_lines(found: Sequence[RunElsewhere]) -> Iterator[str]:
    """Write a section of its own; nothing where there are none."""
    if found:
        yield ""
        yield click.style("in other worktrees", bold=True)
    for one in found:
        yield f"  {clean_line(one.run.task_id)}  {clean_line(one.text, 2000)}"


def worktree_data(found: Sequence[RunElsewhere]) -> list[dict[str, Any]]:
    """Give the same for programs."""
    return [
        {
            "task": one.run.task_id,
            "run": one.run.id,
            "state": "decision" if one.run.is_pending else "running",
            "worktree": one.place,
        }
        for one in found
    ]
