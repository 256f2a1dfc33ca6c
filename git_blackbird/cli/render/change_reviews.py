"""How the reviews of a leaf's change are shown: what both found, round by round, and what gets on with it."""

from collections.abc import Iterator

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.render.runs import runs_table
from git_blackbird.cli.render.tables import Cell, render_section, render_table
from git_blackbird.messages.display.reviews import (
    change_facts,
    change_missing,
    change_rounds,
    change_steps,
    merged_lines,
)
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.views.reviews import ChangeReviewView


def change_review_lines(view: ChangeReviewView, output: Output) -> Iterator[str]:
    """Write everything of the reviews of one leaf's change."""
    yield f"{click.style(view.task.id, bold=True)}  {clean_line(view.task.title)}"
    yield from render_table([(Cell(f"  {name}"), Cell(text)) for name, text in change_facts(view)], None)
    if view.run is not None and view.merged is not None:
        yield ""
        yield from merged_lines(view.run)
    yield from render_section("missing", list(change_missing(view)))
    rounds = [tuple(map(Cell, row)) for row in change_rounds(view)]
    yield from render_section("rounds", render_table(rounds, None))
    columns = None if output.columns is None else output.columns - 2
    yield from render_section("reviewers", runs_table(view.about, output.environment.timestamp(), columns))
    yield from render_section("next", list(change_steps(view)))
