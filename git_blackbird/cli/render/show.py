"""One task in full: its fields, whether it is ready and why, its latest runs, and what is due."""

from collections.abc import Iterator, Sequence

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.render.runs import runs_table
from git_blackbird.cli.render.status import review_wait_lines
from git_blackbird.cli.render.tables import Cell, label_cell, render_section, render_table
from git_blackbird.controller.queries.reviews import REVIEW_WORDS
from git_blackbird.controller.queries.status import CHANGE_REVIEW, TaskView, why_failed
from git_blackbird.messages.display.format import format_moment, undo_lines
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.entities.change import Undo
from git_blackbird.model.entities.cli_hints import EXECUTE, task_command
from git_blackbird.model.entities.history import PendingMessages
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import OWED_WORDS
from git_blackbird.model.rules.reviews import merged_or_none

MAX_RUNS = 5


def show_lines(view: TaskView, output: Output, commits: Sequence[str]) -> Iterator[str]:
    """Write everything of one task; the commits of its runs are lines already."""
    task = view.task
    label = label_cell(view.label)
    yield f"{click.style(task.id, bold=True)}  {clean_line(task.title)}  [{label.styled(label.text)}]"
    yield from render_table(list(_facts(view)), output.columns)
    yield from render_section("description", strip_controls(task.description).splitlines())
    yield from render_section(
        "acceptance criteria", [f"- {clean_line(one)}" for one in task.acceptance_criteria]
    )
    yield from render_section("prompt", strip_controls(task.prompt).splitlines())
    yield from render_section("notes", strip_controls(task.notes or "").splitlines())
    yield from render_section("depends on", render_table(list(map(_row, view.deps)), output.columns))
    yield from render_section("needed by", render_table(list(map(_row, view.dependents)), output.columns))
    if not task.is_over:
        yield from render_section("ready" if view.readiness.is_ready else "not ready", list(_readiness(view)))
    yield from render_section("due", _due(view, output.columns))
    yield from render_section("rejected change", undo_lines(view.undo or Undo()))
    new, repeated = view.words.select(sent=False), view.words.select(sent=True)
    yield from render_section("sent with the next start", _words(new))
    yield from render_section("sent before, repeated until the task is done", _words(repeated))
    yield from render_section("runs", _runs(view, output))
    yield from render_section("reviews", _reviews(view))
    yield from render_section("commits", commits)


def _facts(view: TaskView) -> Iterator[tuple[Cell, Cell]]:
    task = view.task
    yield Cell("status"), Cell(task.status.value)
    if task.parent is not None:
        yield Cell("parent"), Cell(task.parent)
    if task.children:
        yield Cell("children"), Cell(", ".join(task.children))
    if view.skipped:
        yield Cell("skipped"), Cell(", ".join(view.skipped))
    yield Cell("created"), Cell(format_moment(task.created_at))
    yield Cell("updated"), Cell(format_moment(task.updated_at))


def _row(task: Task) -> tuple[Cell, Cell, Cell]:
    return Cell(task.id), label_cell(task.status.value.upper()), Cell(clean_line(task.title))


def _readiness(view: TaskView) -> Iterator[str]:
    if view.readiness.is_ready:
        yield task_command("execute", view.task.id)
    yield from view.readiness.reasons
    yield from (f"    {way}" for way in view.readiness.hints)


def _due(view: TaskView, columns: int | None) -> Iterator[str]:
    room = None if columns is None else columns - 6
    if view.pending is not None:
        yield OWED_WORDS[view.pending.kind].format(run=view.pending.run_id)
        yield from (f"{clean_line(one.id)}: {clean_line(one.prompt)}" for one in view.pending.questions)
        yield f"    {view.pending.command}"
    elif view.to_review is not None:
        yield CHANGE_REVIEW
        yield f"    {EXECUTE}"
    elif view.unreviewed is not None:
        yield REVIEW_WORDS[view.unreviewed.wait]
        yield from (f"    {line}" for line in review_wait_lines(view.unreviewed, room))
        yield f"    {task_command('review show', view.task.id)}"
    elif view.task.status is Status.FAILED:
        yield f"failed: {clean_line(why_failed(view.history) or 'no reason is recorded')}"
        yield f"    {task_command('retry', view.task.id)}"


def _words(words: PendingMessages) -> Iterator[str]:
    review = words.review
    if review is not None:
        where = f"{clean_line(review.parent_task_id)} (run {clean_line(review.review_run_id)})"
        yield f"from the review of {where}:"
        yield from (f"  {line}" for line in strip_controls(review.feedback).splitlines())
    for text in words.texts:
        yield from strip_controls(text).splitlines()
    for answer in words.answers:
        yield f"{clean_line(answer.id)}: {clean_line(answer.value)}"


def _runs(view: TaskView, output: Output) -> Iterator[str]:
    runs = view.history.runs[::-1]
    columns = None if output.columns is None else output.columns - 2
    yield from runs_table(runs[:MAX_RUNS], output.environment.timestamp(), columns)
    if len(runs) > MAX_RUNS:
        yield f"and {len(runs) - MAX_RUNS} more: {task_command('runs', view.task.id)}"


def _reviews(view: TaskView) -> Iterator[str]:
    run = view.history.latest
    if run is not None and run.merged_review is not None:
        word = overall_word(merged_or_none(run))
        yield f"{word}, round {run.review_round or 1}: {task_command('review show', view.task.id)}"
