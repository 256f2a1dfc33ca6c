"""Commands that change tasks of the plan: edit, deps, move, delete."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import click

from git_blackbird.cli.again import asks_again
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.output import Output
from git_blackbird.cli.text_option import text
from git_blackbird.controller.editing import edit_by_hand
from git_blackbird.controller.task_edits import Edited, add_deps, edit_task, remove_deps, set_deps
from git_blackbird.controller.task_moves import (
    Deleted,
    Deletion,
    Destination,
    Moved,
    delete_task,
    move_task,
)
from git_blackbird.controller.workspace import open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.amounts import counted
from git_blackbird.model.commands import task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status

_JSON_NAMES = {"acceptance_criteria": "acceptanceCriteria"}
_CLEARED: Mapping[str, Any] = {"description": "", "prompt": "", "notes": None, "acceptance_criteria": ()}
_OPTION_NAMES = {"acceptance_criteria": "ac"}
_DEPS_ACTIONS: Mapping[str, Callable[..., Edited]] = {
    "add": add_deps,
    "remove": remove_deps,
    "set": set_deps,
}


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--title", type=text, metavar="TEXT", help="What the task is, in a line.")
@click.option("--description", type=text, metavar="TEXT", help="What it is about.")
@click.option("--clear-description", is_flag=True, help="Clear the description.")
@click.option("--prompt", type=text, metavar="TEXT", help="What its agent is to do.")
@click.option("--clear-prompt", is_flag=True, help="Clear the prompt.")
@click.option("--notes", type=text, metavar="TEXT", help="Notes for people.")
@click.option("--clear-notes", is_flag=True, help="Clear the notes.")
@click.option(
    "--ac",
    "acceptance_criteria",
    type=text,
    multiple=True,
    metavar="TEXT",
    help="An acceptance criterion, in place of those there are; repeatable.",
)
@click.option("--clear-ac", "clear_acceptance_criteria", is_flag=True, help="Clear the criteria.")
@command_options
def edit(call: Invocation, /, task_id: str, **told: "str | bool | tuple[str, ...] | None") -> ExitCode:
    """Edit a task: with options, or without any in your editor.

    The editor is git's: GIT_EDITOR, core.editor, VISUAL, EDITOR. What others change in the plan meanwhile
    is kept.
    """
    values = _values(told)
    if not values and call.no_input:
        raise UsageError(
            "nothing to change", hint="name a field, or leave --no-input out to edit the task in your editor"
        )
    workspace = open_workspace(call.world)
    if values:
        done = edit_task(workspace, task_id, lambda now: replace(now, **values))
    else:
        done = edit_by_hand(workspace, task_id, asks_again(call))
    call.output.say(f"updated {done.task_id}" if done.fields else f"{done.task_id} is unchanged")
    _warn_deadlock(call.output, done.deadlock)
    fields = [_JSON_NAMES.get(name, name) for name in done.fields]
    call.output.data({"task": done.task_id, "fields": fields, "deadlock": list(done.deadlock or ())})
    return ExitCode.OK


def _values(told: "Mapping[str, str | bool | tuple[str, ...] | None]") -> dict[str, Any]:
    """Give the fields that options name, and what they are to be."""
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


@click.command(no_args_is_help=False)
@click.argument("action", type=click.Choice(list(_DEPS_ACTIONS)), metavar="add|remove|set")
@click.argument("task_id", metavar="TASK")
@click.argument("deps", nargs=-1, metavar="[DEP]...")
@command_options
def deps(call: Invocation, *, action: str, task_id: str, deps: tuple[str, ...]) -> ExitCode:
    """Change which tasks must be done before TASK.

    add and remove take the DEPs named; set makes them all there are, none when none is named.
    """
    if not deps and action != "set":
        raise UsageError("name the tasks that it depends on", hint=f"git blackbird deps {action} TASK DEP...")
    done = _DEPS_ACTIONS[action](open_workspace(call.world), task_id, deps)
    before, after = done.before.deps, done.after.deps
    added = [dep for dep in after if dep not in before]
    removed = [dep for dep in before if dep not in after]
    if action == "set":
        call.output.say(f"set {done.task_id} deps ({len(after)})")
    else:
        _say_deps(call.output, done, dict.fromkeys(deps))
    _warn_deadlock(call.output, done.deadlock)
    call.output.data(
        {
            "task": done.task_id,
            "deps": list(after),
            "added": added,
            "removed": removed,
            "deadlock": list(done.deadlock or ()),
        }
    )
    return ExitCode.OK


def _say_deps(output: Output, done: Edited, named: Mapping[str, None]) -> None:
    for dep in named:
        if dep not in done.after.deps:
            output.say(f"removed dep {done.task_id} -> {dep}")
        elif dep not in done.before.deps:
            output.say(f"added dep {done.task_id} -> {dep}")
        else:
            output.say(f"{done.task_id} depends on {dep} already")


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--parent", metavar="PARENT", help="The new parent; root, or /, is the top of the plan.")
@click.option(
    "--index", type=int, help="The place among the parent's children, from 0; the last when not given."
)
@command_options
def move(call: Invocation, *, task_id: str, parent: str | None, index: int | None) -> ExitCode:
    """Put a task, and all below it, below another parent or at another place."""
    if parent is None and index is None:
        raise UsageError("say where to: --parent or --index", hint="git blackbird move TASK --parent PARENT")
    moved = move_task(open_workspace(call.world), task_id, Destination(parent, index))
    call.output.say(f"moved {moved.task_id}" if moved.is_changed else f"{moved.task_id} is already there")
    _say_followed(call.output, moved.followed)
    if moved.not_undone:
        call.output.say(f"  not undone, although they built on it: {', '.join(moved.not_undone)}")
    if moved.recreated:
        named = ", ".join(moved.recreated)
        call.output.say(f"  tasks at the top are ordered by createdAt, which was changed for: {named}")
    _warn_deadlock(call.output, moved.deadlock)
    call.output.data(_moved_data(moved))
    return ExitCode.OK


def _say_followed(output: Output, followed: Mapping[TaskId, Status]) -> None:
    if followed:
        named = ", ".join(f"{task_id} ({status.value})" for task_id, status in followed.items())
        output.say(f"  changed with it: {named}")


def _moved_data(moved: Moved) -> dict[str, Any]:
    return {
        "task": moved.task_id,
        "parent": moved.place.parent,
        "index": moved.place.index,
        "moved": moved.is_changed,
        "changed": list(moved.followed),
        "notUndone": list(moved.not_undone),
        "recreated": list(moved.recreated),
        "deadlock": list(moved.deadlock or ()),
    }


@click.command()
@click.argument("task_id", metavar="TASK")
@click.option("--cascade-children", is_flag=True, help="Delete everything below it too.")
@click.option(
    "--force", is_flag=True, help="Take it out of the dependencies of others; drop a pending decision."
)
@command_options
def delete(call: Invocation, *, task_id: str, cascade_children: bool, force: bool) -> ExitCode:
    """Take a task out of the plan; the records of its runs stay."""
    deleted = delete_task(open_workspace(call.world), Deletion(task_id, cascade_children, force))
    for line in _deleted_lines(deleted):
        call.output.say(line)
    _say_followed(call.output, deleted.followed)
    call.output.data(
        {
            "deleted": list(deleted.task_ids),
            "detached": list(deleted.detached),
            "runs": {one: list(runs) for one, runs in deleted.runs.items()},
            "dropped": list(deleted.dropped),
            "changed": list(deleted.followed),
        }
    )
    return ExitCode.OK


def _deleted_lines(deleted: Deleted) -> list[str]:
    lines = [f"deleted {len(deleted.task_ids)} item(s)"]
    if deleted.detached:
        lines.append(f"detached deps from: {', '.join(deleted.detached)}")
    lines += [f"  the decision due on run {run_id} is dropped" for run_id in deleted.dropped]
    for task_id, runs in deleted.runs.items():
        lines.append(f"  kept: {counted(len(runs), 'run')} of {task_id} ({task_command('runs', task_id)})")
    return lines
