"""Commands that take the change of a task back, or bring it back."""

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.undo.undo import redo_task, tasks_to_undo, undo_task
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.change import undo_result_lines
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.run.states import VERBS, Verb
from git_blackbird.model.views.undo import UndoResult


def undo(call: CommandContext, task_id: str | None, *, dry_run: bool) -> ExitCode:
    if task_id is None:
        return _show_tasks(call, Verb.UNDO, "no task has changed anything that could be taken back")
    return show_undo(call, undo_task(call.workspace, task_id, dry_run=dry_run))


def redo(call: CommandContext, task_id: str | None, *, dry_run: bool) -> ExitCode:
    if task_id is None:
        return _show_tasks(call, Verb.REDO, "nothing was taken back that could be brought back")
    return show_undo(call, redo_task(call.workspace, task_id, dry_run=dry_run))


def _show_tasks(call: CommandContext, verb: Verb, without: str) -> ExitCode:
    """Say whose change can be taken back, or brought back, each by its command."""
    tasks = tuple(tasks_to_undo(call.workspace.plan_state(), verb))
    commands = [TaskCommand(VERBS[verb].command, task.id, remark=task.title) for task in tasks]
    call.lines(commands or [without])
    if call.as_json:
        from git_blackbird.cli.printed.changes import TaskToUndo, UndoListOutput

        shown = (TaskToUndo(task, command.command) for task, command in zip(tasks, commands, strict=True))
        call.data(UndoListOutput(tuple(shown)))
    return ExitCode.OK


def show_undo(call: CommandContext, result: UndoResult) -> ExitCode:
    """Say what was taken back or brought back, what stays, and how to turn that round."""
    call.show(undo_result_lines(result))
    for warning in result.warnings:
        call.warn(warning)
    if call.as_json:
        from git_blackbird.cli.printed.changes import UndoOutput

        call.data(UndoOutput(result))
    return ExitCode.OK if result.is_whole else ExitCode.FAILED
