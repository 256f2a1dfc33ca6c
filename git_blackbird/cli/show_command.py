"""``show``: one task, what its agent would be told, or where a commit comes from."""

from dataclasses import replace

import click

from git_blackbird.cli.commits_view import commit_lines, commits_data, origin_data, origin_lines
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.show_view import show_data, show_lines
from git_blackbird.cli.troubles import warn_faults, warn_problems, warn_unconfirmed
from git_blackbird.cli.worktrees_view import worktree_data, worktree_lines
from git_blackbird.controller.commit_views import commits_of, find_origin, with_noted
from git_blackbird.controller.other_worktrees import runs_elsewhere
from git_blackbird.controller.overview import view_task
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.commits import Origin
from git_blackbird.model.text import clean


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
    runs = tuple(with_noted(workspace, run) for run in view.history.runs)
    view = view._replace(history=replace(view.history, runs=runs))
    commits = commits_of(workspace, runs[::-1])
    elsewhere = list(runs_elsewhere(workspace, {view.task.id}))
    lines = show_lines(view, call.output, list(commit_lines(commits)))
    for line in (*lines, *worktree_lines(elsewhere)):
        call.output.say(line)
    data = show_data(view, call.world.timestamp())
    more = {"commits": commits_data(commits), "otherWorktrees": worktree_data(elsewhere)}
    call.output.data({**data, **more})
    warn_faults(call.output, view.unreadable)
    warn_unconfirmed(call.output, view.unconfirmed)


def _show_prompt(call: Invocation, workspace: Workspace, task_id: str) -> None:
    from git_blackbird.controller.preview import preview  # noqa: PLC0415  # loads what knows the agents

    told = preview(workspace, task_id)
    call.output.say(clean(told.text).rstrip("\n"))
    overview = told.overview
    if overview is not None:
        part = "the beginning of " if overview.is_beginning else ""
        call.output.note(f"the agent is told about the project by {part}{overview.file}")
    call.output.data(
        {
            "task": task_id,
            "agent": told.agent,
            "prompt": told.prompt,
            "context": told.context,
            "projectFile": None if overview is None else overview.file,
        }
    )


def _show_origin(call: Invocation, origin: Origin) -> None:
    for line in origin_lines(origin):
        call.output.say(line)
    call.output.data(origin_data(origin, call.world.timestamp()))
