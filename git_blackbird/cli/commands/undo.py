"""Commands that take the change of a task back, or bring it back."""

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.undo.undo import redo_task, tasks_to_redo, undo_task
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.change import undo_result_lines
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.views.undo import UndoResult


def undo(call: CommandContext, task_id: str, *, dry_run: bool) -> ExitCode:
    return show_undo(call, undo_task(call.workspace, task_id, dry_run=dry_run))


def redo(call: CommandContext, task_id: str | None, *, dry_run: bool) -> ExitCode:
    """Bring the change of a task back; without one say whose change can come back."""
    if task_id is None:
        tasks = tuple(tasks_to_redo(call.workspace.plan_state()))
        commands = (TaskCommand("redo", task.id, remark=task.title) for task in tasks)
        call.lines(list(commands) or ["nothing was taken back that could be brought back"])
        if call.as_json:
            from git_blackbird.cli.printed.changes import RedoListOutput, TaskToRedo

            call.data(RedoListOutput(tuple(map(TaskToRedo, tasks))))
        return ExitCode.OK
    return show_undo(call, redo_task(call.workspace, task_id, dry_run=dry_run))


def show_undo(call: CommandContext, result: UndoResult) -> ExitCode:
    """Say what was taken back or brought back, what stays, and how to turn that round."""
    call.show(undo_result_lines(result))
    for warning in result.warnings:
        call.warn(warning)
    if call.as_json:
        from git_blackbird.cli.printed.changes import UndoOutput

        call.data(UndoOutput(result))
    return ExitCode.OK if result.is_whole else ExitCode.FAILED
