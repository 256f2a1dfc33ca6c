"""How the reviews of a leaf's change are shown: what both found, round by round, and what gets on with it."""

from collections.abc import Iterator
from typing import Any

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.runs_view import run_row, runs_table
from git_blackbird.cli.tables import Cell, render_section, render_table
from git_blackbird.messages.review_text import merged_lines
from git_blackbird.messages.review_views import change_facts, change_missing, change_rounds, change_steps
from git_blackbird.model.commands import runnable_steps
from git_blackbird.model.recorded import plain
from git_blackbird.model.review_views import ChangeReviewView
from git_blackbird.model.task_review import missing_texts
from git_blackbird.model.text import clean_line


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
    yield from render_section("reviewers", runs_table(view.about, output.world.timestamp(), columns))
    yield from render_section("next", list(change_steps(view)))


def change_review_view_data(view: ChangeReviewView, now: str) -> dict[str, Any]:
    """Give the same for programs."""
    run = view.run
    return {
        "task": view.task.id,
        "title": view.task.title,
        "status": view.task.status.value,
        "run": None if run is None else run.id,
        "reviewState": None if run is None else run.review_state,
        "decision": None if run is None else run.decision_state,
        "round": None if run is None else run.review_round,
        "maxRounds": view.max_rounds,
        "review": None if view.merged is None else plain(view.merged),
        "missing": [] if view.merged is None else list(missing_texts(view.merged, view.about)),
        "rounds": [
            {"run": one.id, "round": one.review_round, "review": one.merged_review} for one in view.rounds
        ],
        "reviews": [run_row(one, now) for one in view.about],
        "nextSteps": runnable_steps(change_steps(view)),
    }
