"""Commands that hand out what runs did, as branches and worktrees."""

from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.decisions.export import create_task_branch, restore_run
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.format import render_path
from git_blackbird.model.base.sanitize import shell_word, strip_controls


def branch(call: CommandContext, task_id: str, *, name: str | None, onto: str | None) -> ExitCode:
    result = create_task_branch(open_workspace(call.environment), task_id, name, onto)
    call.print(f"branch {result.name} has the change of {task_id}, as commit {result.commit[:12]}")
    call.lines(strip_controls(result.summary.diffstat).splitlines())
    call.data("runs:BranchOutput", result)
    return ExitCode.OK


def restore(
    call: CommandContext, run_id: str, *, folder: str | None, branch: str | None, before: bool
) -> ExitCode:
    if (folder is None) == (branch is None):
        raise UsageError("say where to", hint="FOLDER for a new worktree, or --branch NAME")
    place = None if folder is None else call.environment.cwd / Path(folder)
    workspace = open_workspace(call.environment)
    result = restore_run(workspace, run_id, folder=place, branch=branch, before=before)
    what = f"the files {'before' if before else 'after'} run {result.run_id} of {result.task_id}"
    if folder is not None:
        call.print(f"{render_path(folder)} is a worktree with {what}")
        call.print(f"to remove it: git worktree remove {shell_word(folder)}")
    else:
        call.print(f"branch {branch} has {what}, as commit {result.commit[:12]}")
    call.data("runs:RestoreOutput", result)
    return ExitCode.OK
