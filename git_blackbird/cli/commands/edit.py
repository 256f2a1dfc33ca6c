"""Commands that change tasks of the plan: edit, deps, move, delete."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from git_blackbird.cli.output import CommandContext, Output
from git_blackbird.cli.ui.prompts import confirm
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.plan.edit import (
    DeleteResult,
    EditResult,
    add_deps,
    delete_task,
    edit_task,
    move_task,
    remove_deps,
    set_deps,
)
from git_blackbird.controller.plan.editor import WantsAgain, edit_in_editor
from git_blackbird.errors import ExitCode, InterruptedByUserError, RequestError, UsageError
from git_blackbird.messages.display.format import counted
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import strip_controls
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.status import Status


def confirm_reedit(call: CommandContext) -> WantsAgain:
    """Ask on a terminal; elsewhere the answer is no."""
    ends = (sys.stdin, sys.stderr)
    is_terminal = all(stream is not None and stream.isatty() for stream in ends)
    if call.output.as_json or call.no_input or not is_terminal:
        return lambda _: False
    return _ask


def _ask(fault: RequestError) -> bool:
    try:
        click.echo(f"error: {strip_controls(fault.message)}", err=True)
        return confirm("edit it again?", default=True, err=True)
    except (click.Abort, KeyboardInterrupt):
        click.echo(err=True)
        raise InterruptedByUserError("interrupted") from None


_CLEARED: Mapping[str, Any] = {"description": "", "prompt": "", "notes": None, "acceptance_criteria": ()}
_OPTION_NAMES = {"acceptance_criteria": "ac"}
_DEPS_ACTIONS: Mapping[str, Callable[..., EditResult]] = {
    "add": add_deps,
    "remove": remove_deps,
    "set": set_deps,
}


def edit(call: CommandContext, /, task_id: str, **told: "str | bool | tuple[str, ...] | None") -> ExitCode:
    values = _values(told)
    if not values and call.no_input:
        raise UsageError(
            "nothing to change", hint="name a field, or leave --no-input out to edit the task in your editor"
        )
    workspace = open_workspace(call.environment)
    if values:
        done = edit_task(workspace, task_id, lambda now: replace(now, **values))
    else:
        done = edit_in_editor(workspace, task_id, confirm_reedit(call))
    call.output.print(f"updated {done.task_id}" if done.fields else f"{done.task_id} is unchanged")
    _warn_deadlock(call.output, done.deadlock)
    call.output.data("plan:EditOutput", done)
    return ExitCode.OK


def _values(told: "Mapping[str, str | bool | tuple[str, ...] | None]") -> dict[str, Any]:
    """Return the fields that options name, and what they are to be."""
    values: dict[str, Any] = {}
    for name in ("title", *_CLEARED):
        option = _OPTION_NAMES.get(name, name)
        is_given = told[name] is not None and told[name] != ()
        if is_given:
            values[name] = told[name]
        if told.get(f"clear_{name}"):
            if is_given:
                raise UsageError(f"--{option} and --clear-{option} do not go together")
            values[name] = _CLEARED[name]
    return values


def _warn_deadlock(output: Output, deadlock: tuple[TaskId, ...] | None) -> None:
    if deadlock is not None:
        output.warn(
            f"these wait for one another forever: {' -> '.join(deadlock)}",
            "a parent is done when its children are: remove one of these dependencies",
        )


def deps(call: CommandContext, *, action: str, task_id: str, deps: tuple[str, ...]) -> ExitCode:
    if not deps and action != "set":
        raise UsageError("name at least one dependency", hint=f"git blackbird deps {action} TASK DEP...")
    done = _DEPS_ACTIONS[action](open_workspace(call.environment), task_id, deps)
    if action == "set":
        call.output.print(f"set {done.task_id} deps ({len(done.after.deps)})")
    else:
        _say_deps(call.output, done, dict.fromkeys(deps))
    _warn_deadlock(call.output, done.deadlock)
    call.output.data("plan:DepsOutput", done)
    return ExitCode.OK


def _say_deps(output: Output, done: EditResult, named: Mapping[str, None]) -> None:
    for dep in named:
        if dep not in done.after.deps:
            output.print(f"removed dep {done.task_id} -> {dep}")
        elif dep not in done.before.deps:
            output.print(f"added dep {done.task_id} -> {dep}")
        else:
            output.print(f"{done.task_id} already depends on {dep}")


def move(call: CommandContext, *, task_id: str, parent: str | None, index: int | None) -> ExitCode:
    if parent is None and index is None:
        raise UsageError(
            "name the new place: --parent or --index", hint="git blackbird move TASK --parent PARENT"
        )
    moved = move_task(open_workspace(call.environment), task_id, parent, index)
    call.output.print(f"moved {moved.task_id}" if moved.is_changed else f"{moved.task_id} is already there")
    _say_followed(call.output, moved.followed)
    if moved.not_undone:
        call.output.print(f"  not reset, although they depend on it: {', '.join(moved.not_undone)}")
    if moved.recreated:
        named = ", ".join(moved.recreated)
        call.output.print(f"  tasks at the top are ordered by createdAt, which was changed for: {named}")
    _warn_deadlock(call.output, moved.deadlock)
    call.output.data("plan:MoveOutput", moved)
    return ExitCode.OK


def _say_followed(output: Output, followed: Mapping[TaskId, Status]) -> None:
    if followed:
        named = ", ".join(f"{task_id} ({status.value})" for task_id, status in followed.items())
        output.print(f"  also changed: {named}")


def delete(call: CommandContext, *, task_id: str, cascade_children: bool, force: bool) -> ExitCode:
    deleted = delete_task(
        open_workspace(call.environment), task_id, cascade_children=cascade_children, force=force
    )
    call.output.lines(_deleted_lines(deleted))
    _say_followed(call.output, deleted.followed)
    call.output.data("plan:DeleteOutput", deleted)
    return ExitCode.OK


def _deleted_lines(deleted: DeleteResult) -> list[str]:
    lines = [f"deleted {len(deleted.task_ids)} item(s)"]
    if deleted.detached:
        lines.append(f"detached deps from: {', '.join(deleted.detached)}")
    lines += [f"  the decision due on run {run_id} is dropped" for run_id in deleted.dropped]
    for task_id, runs in deleted.runs.items():
        lines.append(f"  kept: {counted(len(runs), 'run')} of {task_id} ({task_command('runs', task_id)})")
    return lines
