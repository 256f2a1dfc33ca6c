"""Commands that only read: status, list, show. They load neither asyncio nor pygit2."""

import click

from git_blackbird.cli.commits_view import commit_lines, origin_data, origin_lines
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.output import Output
from git_blackbird.cli.porcelain import list_records, print_records, record_options, status_records
from git_blackbird.cli.show_view import show_data, show_lines, task_data
from git_blackbird.cli.status_view import status_data, status_lines
from git_blackbird.cli.tables import Cell, render_table
from git_blackbird.cli.troubles import warn_faults, warn_problems
from git_blackbird.cli.wording import label_cell
from git_blackbird.controller.commit_views import Origin, commits_of, find_origin
from git_blackbird.controller.overview import (
    Filter,
    build_overview,
    label,
    list_tasks,
    tree_of_tasks,
    view_task,
)
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.text import clean, clean_line

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
    workspace = open_workspace(call.world)
    overview = build_overview(workspace)
    if record_end is None:
        for line in status_lines(overview, call.output):
            call.output.say(line)
        call.output.data(status_data(overview))
    else:
        print_records(call.output, status_records(overview), record_end)
    warn_faults(call.output, overview.unreadable)
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
    )
    rows = tree_of_tasks(plan, wanted) if tree else [(0, task) for task in list_tasks(plan, wanted)]
    if record_end is None:
        _print_list(call.output, plan, rows, _EMPTY.get(which or "", "no tasks"))
    else:
        print_records(call.output, list_records(plan, rows), record_end)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _print_list(output: Output, plan: Plan, rows: list[tuple[int, Task]], empty: str) -> None:
    cells = [
        (Cell("  " * depth + task.id), label_cell(label(plan, task)), Cell(clean_line(task.title)))
        for depth, task in rows
    ]
    for line in render_table(cells, output.columns):
        output.say(line)
    if not rows:
        output.say(empty)
    output.data({"tasks": [{**task_data(task, label(plan, task)), "depth": depth} for depth, task in rows]})


@click.command()
@click.argument("task_id", metavar="[TASK]", required=False)
@click.option("--prompt", "wants_prompt", is_flag=True, help="Show exactly what its agent would be told now.")
@click.option("--commit", "name", metavar="COMMIT", help="Show which task and run made a commit.")
@command_options
def show(call: Invocation, *, task_id: str | None, wants_prompt: bool, name: str | None) -> ExitCode:
    """Show one task and why it is or is not ready; or where a commit comes from."""
    if (task_id is None) == (name is None) or (wants_prompt and name is not None):
        raise UsageError("show takes a TASK or --commit COMMIT, one of them", hint="git blackbird show -h")
    workspace = open_workspace(call.world)
    if name is not None:
        _show_origin(call, find_origin(workspace, name))
    elif task_id is not None and wants_prompt:
        _show_prompt(call, workspace, task_id)
    elif task_id is not None:
        _show_task(call, workspace, task_id)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _show_task(call: Invocation, workspace: Workspace, task_id: str) -> None:
    view = view_task(workspace, task_id)
    commits = list(commit_lines(commits_of(workspace, view.history.runs[::-1])))
    for line in show_lines(view, call.output, commits):
        call.output.say(line)
    call.output.data(show_data(view, call.world.timestamp()))
    warn_faults(call.output, view.history.faults)


def _show_prompt(call: Invocation, workspace: Workspace, task_id: str) -> None:
    from git_blackbird.controller.preview import preview  # noqa: PLC0415  # loads what knows the agents

    told = preview(workspace, task_id)
    call.output.say(clean(told.text).rstrip("\n"))
    call.output.data({"task": task_id, "agent": told.agent, "prompt": told.prompt, "context": told.context})


def _show_origin(call: Invocation, origin: Origin) -> None:
    for line in origin_lines(origin):
        call.output.say(line)
    call.output.data(origin_data(origin, call.world.timestamp()))
