"""Commands that only read: status, list. They load neither asyncio nor pygit2."""

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.output import Output
from git_blackbird.cli.porcelain import list_records, print_records, record_options, status_records
from git_blackbird.cli.status_view import status_data, status_lines
from git_blackbird.cli.tables import Cell, render_table
from git_blackbird.cli.task_view import task_data
from git_blackbird.cli.troubles import warn_faults, warn_problems, warn_unconfirmed
from git_blackbird.cli.wording import label_cell
from git_blackbird.cli.worktrees_view import worktree_data, worktree_lines
from git_blackbird.controller.other_worktrees import runs_elsewhere
from git_blackbird.controller.overview import (
    Filter,
    build_overview,
    label,
    list_tasks,
    stopped_tasks,
    tree_of_tasks,
)
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.errors import ExitCode
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.text import clean_line

_EMPTY = {
    "ready": "no ready tasks",
    "blocked": "no blocked tasks",
}


@click.command()
@record_options
@command_options
def status(call: Invocation, *, record_end: str | None) -> ExitCode:
    """Show where the plan stands, what runs, and what is due.

    Everything due is followed by the command that answers it.
    """
    return show_status(call, record_end)


def show_status(call: Invocation, record_end: str | None = None) -> ExitCode:
    """Print where everything stands; with ``record_end`` as records for scripts."""
    workspace = open_workspace(call.world)
    overview = build_overview(workspace)
    if record_end is None:
        elsewhere = list(runs_elsewhere(workspace))
        for line in (*status_lines(overview, call.output), *worktree_lines(elsewhere)):
            call.output.say(line)
        call.output.data({**status_data(overview), "otherWorktrees": worktree_data(elsewhere)})
    else:
        print_records(call.output, status_records(overview), record_end)
    warn_faults(call.output, overview.unreadable)
    warn_unconfirmed(call.output, overview.unconfirmed)
    warn_problems(call.output, workspace)
    return ExitCode.OK


@click.command("list")
@click.option("--ready", "which", flag_value="ready", help="Only what can be started now.")
@click.option("--blocked", "which", flag_value="blocked", help="Only leaves that wait for others.")
@click.option("--all", "which", flag_value="all", help="Everything, parents and finished tasks too.")
@click.option(
    "--status",
    "status_name",
    type=click.Choice([status.value for status in Status]),
    metavar="STATUS",
    help="Only tasks in this status.",
)
@click.option("--tree", is_flag=True, help="Show children below their parents.")
@record_options
@command_options
def list_command(
    call: Invocation, *, which: str | None, status_name: str | None, tree: bool, record_end: str | None
) -> ExitCode:
    """List tasks: without an option, the leaves that are neither done nor skipped."""
    workspace = open_workspace(call.world)
    plan = workspace.store.plan()
    wanted = Filter(
        everything=which == "all",
        only_ready=which == "ready",
        only_blocked=which == "blocked",
        status=None if status_name is None else Status(status_name),
        stopped=stopped_tasks(workspace, plan),
    )
    rows = tree_of_tasks(plan, wanted) if tree else [(0, task) for task in list_tasks(plan, wanted)]
    listed = [(depth, task, label(plan, task, wanted.stopped)) for depth, task in rows]
    if record_end is None:
        _print_list(call.output, listed, _EMPTY.get(which or "", "no tasks"))
    else:
        print_records(call.output, list_records(listed), record_end)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _print_list(output: Output, rows: list[tuple[int, Task, str]], empty: str) -> None:
    cells = [
        (Cell("  " * depth + task.id), label_cell(word), Cell(clean_line(task.title)))
        for depth, task, word in rows
    ]
    for line in render_table(cells, output.columns):
        output.say(line)
    if not rows:
        output.say(empty)
    output.data({"tasks": [{**task_data(task, word), "depth": depth} for depth, task, word in rows]})
