"""How the review of one parent is shown: the verdict, what it left owed, and what gets on with it."""

from collections.abc import Iterator
from typing import Any

import click

from git_blackbird.cli.review_data import review_data
from git_blackbird.cli.review_text import paint
from git_blackbird.cli.runs_view import run_row
from git_blackbird.cli.step_data import step_data
from git_blackbird.cli.tables import Cell, render_section, render_table
from git_blackbird.messages.review_views import parent_facts, parent_sections, parent_steps
from git_blackbird.model.commands import runnable_steps
from git_blackbird.model.review_views import ReviewView
from git_blackbird.model.text import clean_line


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
        if step not in {one.command for one in view.owed}:
            yield step


def review_view_data(view: ReviewView, now: str) -> dict[str, Any]:
    """Give the same for programs."""
    return {
        "task": view.parent.id,
        "title": view.parent.title,
        "status": view.parent.status.value,
        "gate": None if view.gate is None else view.gate.value,
        "openChildren": list(view.open_children),
        "skippedChildren": list(view.skipped),
        "verdict": None if view.said is None else {"run": view.said.id, **(review_data(view.said) or {})},
        "isPresent": view.is_present,
        "attempts": [{"run": run.id, "status": run.status, "error": run.error} for run in view.attempts],
        "owed": [
            {
                "task": one.task.id,
                "run": one.feedback.review_run_id,
                "feedback": one.feedback.feedback,
                **step_data(one.command),
            }
            for one in view.owed
        ],
        "reviews": [run_row(run, now) for run in reversed(view.reviews)],
        "nextSteps": runnable_steps(parent_steps(view)),
    }
