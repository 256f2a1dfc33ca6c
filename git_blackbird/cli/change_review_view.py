"""How the reviews of a leaf's change are shown: what both found, round by round, and what gets on with it."""

from collections.abc import Iterator
from typing import Any

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.runs_view import run_row, runs_table
from git_blackbird.cli.tables import Cell, render_section, render_table
from git_blackbird.controller.review_views import ChangeReviewView
from git_blackbird.messages.review_text import merged_lines, overall_word
from git_blackbird.messages.run_text import shown_decision, shown_moment
from git_blackbird.model.commands import EXECUTE, decide_run_command, task_command
from git_blackbird.model.recorded import plain
from git_blackbird.model.run import DecisionState, ReviewState, Run, RunStatus, RunType
from git_blackbird.model.task_review import BY_REVIEWERS, missing_texts, readable_merged
from git_blackbird.model.text import clean_line

_LONGEST_FAULT = 400


def change_review_lines(view: ChangeReviewView, output: Output) -> Iterator[str]:
    """Write everything of the reviews of one leaf's change."""
    yield f"{click.style(view.task.id, bold=True)}  {clean_line(view.task.title)}"
    facts = [(Cell(f"  {name}"), Cell(text)) for name, text in _facts(view)]
    yield from render_table(facts, None)
    if view.run is not None and view.merged is not None:
        yield ""
        yield from merged_lines(view.run)
    yield from render_section("missing", [clean_line(text, _LONGEST_FAULT) for text in _missing(view)])
    yield from render_section("rounds", list(_rounds(view)))
    columns = None if output.columns is None else output.columns - 2
    yield from render_section("reviewers", runs_table(view.about, output.world.timestamp(), columns))
    yield from render_section("next", list(next_steps(view)))


def _facts(view: ChangeReviewView) -> Iterator[tuple[str, str]]:
    yield "status", view.task.status.value
    if view.run is not None:
        agent = f" by {clean_line(view.run.provider)}" if view.run.provider else ""
        yield "run", f"{view.run.id}, {shown_moment(view.run.started_at)}{agent}"
    yield "reviews", _state(view)


def _state_without(view: ChangeReviewView, run: Run) -> str:
    """Say how the reviews of a change stand of which none has come to anything."""
    if run.superseded_at is not None:
        return "none: the run was overtaken"
    if run.review_state is ReviewState.BY_HAND:
        return "asked for by hand, and not over"
    if run.merged_review is not None:
        return overall_word(None)
    return "none" if view.is_on else "none (reviews.mode is off)"


def _state(view: ChangeReviewView) -> str:
    run = view.run
    if run is None:
        return "it never ran"
    if run.review_state is ReviewState.DUE and run.superseded_at is None:
        return "due"
    if view.merged is None:
        return _state_without(view, run)
    return f"{overall_word(view.merged)}, round {run.review_round or 1} of {view.max_rounds}{_after(run)}"


def _after(run: Run) -> str:
    if run.decision_state is DecisionState.CHANGES_REQUESTED:
        return f"; changes requested by {'its reviewers' if run.requested_by == BY_REVIEWERS else 'a person'}"
    return f"; decision: {run.decision_state.value}" if run.decision_state is not None else ""


def _missing(view: ChangeReviewView) -> tuple[str, ...]:
    return () if view.merged is None else missing_texts(view.merged, view.about)


def _rounds(view: ChangeReviewView) -> Iterator[str]:
    if len(view.rounds) > 1 or any(run is not view.run for run in view.rounds):
        yield from render_table(
            [
                (
                    Cell(str(run.review_round or 1)),
                    Cell(f"run {run.id}"),
                    Cell(overall_word(readable_merged(run))),
                    Cell(shown_decision(run)),
                )
                for run in view.rounds
            ],
            None,
        )


def next_steps(view: ChangeReviewView) -> tuple[str, ...]:
    """Give the commands that get on with a change that is reviewed, or could be."""
    run = view.run
    if run is None or run.superseded_at is not None:
        return ()
    if run.status is not RunStatus.SUCCESS or run.run_type is not RunType.EXECUTE:
        return ()
    again = task_command("review run", view.task.id)
    if run.is_pending:
        return (decide_run_command(run), again)
    if run.review_state is ReviewState.DUE or run.decision_state is DecisionState.CHANGES_REQUESTED:
        return (EXECUTE,)
    mend = task_command("resume", view.task.id, " -m TEXT")
    return (again, mend) if view.merged is not None and view.merged.findings else (again,)


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
        "missing": list(_missing(view)),
        "rounds": [
            {"run": one.id, "round": one.review_round, "review": one.merged_review} for one in view.rounds
        ],
        "reviews": [run_row(one, now) for one in view.about],
        "nextSteps": list(next_steps(view)),
    }
