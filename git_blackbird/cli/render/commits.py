"""How commits are shown: those of runs, and where one comes from."""

from collections.abc import Iterator, Sequence

import click

from git_blackbird.cli.render.tables import Cell, render_table, status_cell
from git_blackbird.messages.display.format import format_decision
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.commits import CommitProvenance, CommitSource, Evidence, RunCommit
from git_blackbird.model.entities.run import Run

MAX_COMMITS = 10
SHORT_OID = 12

_LEFT_BEHIND = "not in history any more: amended, rebased or dropped"
_SOURCES = {
    Evidence.RECORD: "the run's record",
    Evidence.NOTE: "the hook's notes; the run has not ended",
    Evidence.TRAILERS: "the commit's own trailers",
}


def commit_lines(commits: Sequence[RunCommit]) -> Iterator[str]:
    """Write commits line by line, the last ones in short."""
    for one in commits[:MAX_COMMITS]:
        yield f"{one.oid[:SHORT_OID]}  {_subject(one)}"
    if len(commits) > MAX_COMMITS:
        yield f"and {len(commits) - MAX_COMMITS} more"


def _subject(one: RunCommit) -> str:
    if one.subject is None:
        return "(not in this repository any more)"
    subject = clean_line(one.subject)
    return subject if one.in_history else f"{subject}  ({_LEFT_BEHIND})"


def origin_lines(origin: CommitProvenance) -> Iterator[str]:
    """Say which tasks and runs made a commit, and how that is known."""
    commit = origin.commit
    yield f"{click.style(f'commit {commit.oid[:SHORT_OID]}', bold=True)}  {clean_line(commit.subject)}"
    yield from render_table([_maker_row(maker) for maker in origin.makers], None)
    if not origin.in_history:
        yield _LEFT_BEHIND
    yield "known from " + _SOURCES[origin.source]
    for maker in origin.makers:
        if maker.run is not None:
            yield _run_command(maker.run)
    for one in origin.instead[:MAX_COMMITS]:
        yield f"run {one.run.id} of {clean_line(one.run.task_id)} lists another commit:"
        yield f"    {one.oid[:SHORT_OID]}  {_subject(one)}"
    named = {maker.run_id for maker in origin.makers}
    for run in {one.run.id: one.run for one in origin.instead}.values():
        if run.id not in named:
            yield _run_command(run)


def _run_command(run: Run) -> str:
    return f"    {task_command('runs', run.task_id, f' {run.id}')}"


def _maker_row(maker: CommitSource) -> tuple[Cell, ...]:
    run = maker.run
    task = Cell(f"  task {clean_line(maker.task_id or '-')}")
    if run is None and maker.run_id is None:
        return (task, Cell("names no run"), Cell(""), Cell(""), Cell(""))
    if run is None:
        return (
            task,
            Cell(f"run {clean_line(maker.run_id or '-')}"),
            Cell("no record here"),
            Cell(""),
            Cell(""),
        )
    return (
        task,
        Cell(f"run {run.id}"),
        Cell(run.run_type.value),
        status_cell(run),
        Cell(format_decision(run)),
    )
