"""How commits are shown: those of runs, and where one comes from."""

from collections.abc import Iterator, Sequence
from typing import Any

import click

from git_blackbird.cli.runs_view import run_row
from git_blackbird.cli.tables import Cell, render_table
from git_blackbird.cli.wording import status_cell
from git_blackbird.messages.run_text import shown_decision
from git_blackbird.model.commands import task_command
from git_blackbird.model.commits import Maker, Origin, RunCommit, Source
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean_line

MAX_COMMITS = 10
SHORT_OID = 12

_LEFT_BEHIND = "not in history any more: amended, rebased or dropped"
_SOURCES = {
    Source.RECORD: "the run's record",
    Source.NOTE: "what the hook noted: the run is not over",
    Source.TRAILERS: "the commit's own trailers",
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


def commits_data(commits: Sequence[RunCommit]) -> list[dict[str, Any]]:
    """Give commits for programs, each with its run; a subject is null where the repository lacks it."""
    return [
        {
            "commit": one.oid,
            "subject": one.subject,
            "inHistory": one.in_history,
            "task": one.run.task_id,
            "run": one.run.id,
        }
        for one in commits
    ]


def origin_lines(origin: Origin) -> Iterator[str]:
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
        "inHistory": origin.in_history,
        "knownFrom": origin.source.value,
        "madeBy": [
            {
                "task": maker.task_id,
                "run": maker.run_id,
                "record": None if maker.run is None else run_row(maker.run, now),
            }
            for maker in origin.makers
        ],
        "runsListInstead": commits_data(origin.instead),
    }
