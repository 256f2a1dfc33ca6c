"""How the review of one parent is shown: the verdict, what it left owed, and what gets on with it."""

from collections.abc import Iterator

import click

from git_blackbird.cli.render.tables import Cell, render_section, render_table
from git_blackbird.cli.render.verdicts import paint
from git_blackbird.messages.display.reviews import parent_facts, parent_sections, parent_steps
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.views.reviews import ReviewView


def review_lines(view: ReviewView) -> Iterator[str]:
    """Write everything of one parent's review."""
    parent = view.parent
    yield f"{click.style(parent.id, bold=True)}  {clean_line(parent.title)}"
    yield from render_table([(Cell(f"  {name}"), Cell(text)) for name, text in parent_facts(view)], None)
    for title, lines in parent_sections(view, paint):
        yield from render_section(title, lines)
    yield from render_section("next", list(_steps(view)))


def _steps(view: ReviewView) -> Iterator[str]:
    for step in parent_steps(view):
        if step not in {one.command for one in view.outstanding}:
            yield step
