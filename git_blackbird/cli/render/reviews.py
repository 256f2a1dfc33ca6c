"""The review of a parent and the reviews of a change: what was found, and what comes next."""

from collections.abc import Iterator

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.render.runs import paint, runs_table
from git_blackbird.cli.render.tables import Cell, render_facts, render_section, render_table
from git_blackbird.messages.display.reviews import (
    change_facts,
    change_missing,
    change_rounds,
    change_steps,
    merged_lines,
    parent_facts,
    parent_sections,
    parent_steps,
)
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.views.reviews import ChangeReviewView, ReviewView


def review_lines(view: ReviewView) -> Iterator[str]:
    """Write everything of one parent's review."""
    parent = view.parent
    yield f"{click.style(parent.id, bold=True)}  {clean_line(parent.title)}"
    yield from render_facts(parent_facts(view))
    for title, lines in parent_sections(view, paint):
        yield from render_section(title, lines)
    yield from render_section("next", _steps(view))


def _steps(view: ReviewView) -> Iterator[str]:
    for step in parent_steps(view):
        if step not in {one.command for one in view.outstanding}:
            yield step


def change_review_lines(view: ChangeReviewView, output: Output) -> Iterator[str]:
    """Write everything of the reviews of one leaf's change."""
    yield f"{click.style(view.task.id, bold=True)}  {clean_line(view.task.title)}"
    yield from render_facts(change_facts(view))
    if view.run is not None and view.merged is not None:
        yield ""
        yield from merged_lines(view.run)
    yield from render_section("missing", change_missing(view))
    rounds = [tuple(map(Cell, row)) for row in change_rounds(view)]
    yield from render_section("rounds", render_table(rounds, None))
    columns = None if output.columns is None else output.columns - 2
    yield from render_section("reviewers", runs_table(view.about, output.environment.timestamp(), columns))
    yield from render_section("next", change_steps(view))
