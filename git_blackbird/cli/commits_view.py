"""How commits are shown: those of runs, and where one comes from."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from git_blackbird.cli.runs_view import run_row
from git_blackbird.cli.tables import Cell, render_table
from git_blackbird.cli.wording import shown_decision, status_cell
from git_blackbird.controller.commit_views import Maker, Origin, RunCommit, Source
from git_blackbird.model.commands import task_command
from git_blackbird.model.text import clean_line

MAX_COMMITS = 10
SHORT_OID = 12

_SOURCES = {
    Source.RECORD: "the run's record",
    Source.NOTE: "what the hook noted: the run is not over",
    Source.TRAILERS: "the commit's own trailers",
}


def commit_lines(commits: Sequence[RunCommit]) -> Iterator[str]:
    """Write commits line by line, the last ones in short."""
    for one in commits[:MAX_COMMITS]:
        subject = "(not in this repository any more)" if one.subject is None else clean_line(one.subject)
        yield f"{one.oid[:SHORT_OID]}  {subject}"
    if len(commits) > MAX_COMMITS:
        yield f"and {len(commits) - MAX_COMMITS} more"


def origin_lines(origin: Origin) -> Iterator[str]:
    """Say which tasks and runs made a commit, and how that is known."""
    commit = origin.commit
    yield f"{click.style(f'commit {commit.oid[:SHORT_OID]}', bold=True)}  {clean_line(commit.subject)}"
    yield from render_table([_maker_row(maker) for maker in origin.makers], None)
    yield "known from " + _SOURCES[origin.source]
    for maker in origin.makers:
        if maker.run is not None:
            yield f"    {task_command('runs', maker.run.task_id, f' {maker.run.id}')}"


def _maker_row(maker: Maker) -> tuple[Cell, ...]:
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
        Cell(shown_decision(run)),
    )


def origin_data(origin: Origin, now: str) -> dict[str, Any]:
    """Give the same for programs."""
    return {
        "commit": origin.commit.oid,
        "subject": origin.commit.subject,
        "knownFrom": origin.source.value,
        "madeBy": [
            {
                "task": maker.task_id,
                "run": maker.run_id,
                "record": None if maker.run is None else run_row(maker.run, now),
            }
            for maker in origin.makers
        ],
    }
