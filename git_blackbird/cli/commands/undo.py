"""Commands that take the change of a task back, or bring it back."""

from collections.abc import Iterator

from git_blackbird.cli.output import CommandContext
from git_blackbird.controller.change.undo.result import UndoResult
from git_blackbird.controller.change.undo.undo import redo_task, undo_task
from git_blackbird.errors import ExitCode
from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.base.sanitize import clean_line, strip_controls


def undo(call: CommandContext, task_id: str, *, dry_run: bool) -> ExitCode:
    return show_undo(call, undo_task(call.workspace, task_id, dry_run=dry_run))


def redo(call: CommandContext, task_id: str, *, dry_run: bool) -> ExitCode:
    return show_undo(call, redo_task(call.workspace, task_id, dry_run=dry_run))


def show_undo(call: CommandContext, result: UndoResult) -> ExitCode:
    """Say what was taken back or brought back, what stays, and how to turn that round."""
    call.lines(_lines(result))
    for warning in result.warnings:
        call.warn(warning)
    call.data("runs:UndoOutput", result)
    return ExitCode.OK if result.is_whole else ExitCode.FAILED


def _lines(result: UndoResult) -> Iterator[str]:
    task_id = result.task.id
    for other in result.dependents:
        yield f"{other} depends on {task_id} and has run since"
    verb = "brought back" if result.is_redo else "took back"
    if result.is_dry_run:
        verb = "would bring back" if result.is_redo else "would take back"
    yield f"{verb} the change of {task_id}: {counted(result.summary.totals.files, 'file')}"
    yield from strip_controls(result.summary.diffstat).splitlines()
    yield from (
        f"  left as it is: {render_path(kept.path)}: {clean_line(kept.reason)}" for kept in result.kept
    )
    if result.commit is not None:
        yield f"committed as {result.commit[:12]}"
    if not result.is_whole:
        again = task_command("redo" if result.is_redo else "undo", task_id)
        yield f"this is half done; once nothing is in the way, this completes it: {again}"
    if not result.is_dry_run:
        other_way = task_command("undo" if result.is_redo else "redo", task_id)
        yield f"to turn that round: {other_way}"
