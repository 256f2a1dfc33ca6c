"""``show``: one task, the prompt of its agent, or where a commit comes from."""

from dataclasses import replace

from git_blackbird.cli.output import CommandContext, warn_faults, warn_problems, warn_unconfirmed
from git_blackbird.cli.render.commits import commit_lines, origin_lines
from git_blackbird.cli.render.show import show_lines
from git_blackbird.cli.render.status import worktree_lines
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.commits import commits_of, find_origin, with_noted
from git_blackbird.controller.queries.other_worktrees import runs_elsewhere
from git_blackbird.controller.queries.status import view_task
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.commits import CommitProvenance


def show(call: CommandContext, *, task_id: str | None, wants_prompt: bool, name: str | None) -> ExitCode:
    if (task_id is None) == (name is None) or (wants_prompt and name is not None):
        raise UsageError("show takes either a TASK or --commit COMMIT", hint="git blackbird show -h")
    workspace = open_workspace(call.environment)
    if name is not None:
        _show_origin(call, find_origin(workspace, name))
    elif task_id is not None and wants_prompt:
        _show_prompt(call, workspace, task_id)
    elif task_id is not None:
        _show_task(call, workspace, task_id)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _show_task(call: CommandContext, workspace: Workspace, task_id: str) -> None:
    view = view_task(workspace, task_id)
    runs = tuple(with_noted(workspace, run) for run in view.history.runs)
    view = view._replace(history=replace(view.history, runs=runs))
    commits = commits_of(workspace, runs[::-1])
    elsewhere = list(runs_elsewhere(workspace, {view.task.id}))
    lines = show_lines(view, call.output, list(commit_lines(commits)))
    call.output.lines((*lines, *worktree_lines(elsewhere)))
    call.output.data("runs:ShowOutput", view, commits=commits, other_worktrees=elsewhere)
    warn_faults(call.output, view.unreadable)
    warn_unconfirmed(call.output, view.unconfirmed)


def _show_prompt(call: CommandContext, workspace: Workspace, task_id: str) -> None:
    from git_blackbird.controller.queries.prompt_preview import preview  # noqa: PLC0415  # loads what knows the agents

    told = preview(workspace, task_id)
    call.output.print(strip_controls(told.text).rstrip("\n"))
    overview = told.overview
    if overview is not None:
        part = "the beginning of " if overview.is_beginning else ""
        call.output.print_err(f"the agent is also told about the project, from {part}{overview.file}")
    call.output.data("runs:ShowPromptOutput", told, task=task_id)


def _show_origin(call: CommandContext, origin: CommitProvenance) -> None:
    call.output.lines(origin_lines(origin))
    call.output.data("runs:ShowCommitOutput", origin)
