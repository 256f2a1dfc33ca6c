"""``show``: one task, what its agent would be told, or where a commit comes from."""

from dataclasses import replace

from git_blackbird.cli.context import CommandContext
from git_blackbird.cli.render.commits import commit_lines, origin_lines
from git_blackbird.cli.render.show import show_lines
from git_blackbird.cli.render.warnings import warn_faults, warn_problems, warn_unconfirmed
from git_blackbird.cli.render.worktrees import worktree_lines
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.commits import commits_of, find_origin, with_noted
from git_blackbird.controller.queries.other_worktrees import runs_elsewhere
from git_blackbird.controller.queries.status import view_task
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.base.ids import TaskId
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
    for line in (*lines, *worktree_lines(elsewhere)):
        call.output.print(line)
    if call.output.as_json:
        from git_blackbird.cli.schema.runs import ShowOutput  # noqa: PLC0415  # only --json needs it

        call.output.data(ShowOutput.of(view, commits, elsewhere, call.environment.timestamp()))
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
    if call.output.as_json:
        from git_blackbird.cli.schema.runs import ShowPromptOutput  # noqa: PLC0415  # only --json needs it

        shown = ShowPromptOutput(
            task=TaskId(task_id),
            agent=told.agent,
            prompt=told.prompt,
            context=told.context,
            project_file=None if overview is None else overview.file,
        )
        call.output.data(shown)


def _show_origin(call: CommandContext, origin: CommitProvenance) -> None:
    for line in origin_lines(origin):
        call.output.print(line)
    if call.output.as_json:
        from git_blackbird.cli.schema.runs import ShowCommitOutput  # noqa: PLC0415  # only --json needs it

        call.output.data(ShowCommitOutput.of(origin, call.environment.timestamp()))
