"""The command pick: find a task by typing, then do something with it."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import questionary

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.syntax.registry import load_command
from git_blackbird.cli.ui.prompts import terminal_output
from git_blackbird.controller.queries.status import label, stopped_tasks
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.plan.graph import is_ready
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState


def pick(call: CommandContext) -> ExitCode:
    if call.no_input or call.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("pick asks on a terminal", hint="git blackbird list    # then name a task")
    state = call.workspace.plan_state()
    if not state.plan.tasks:
        call.print("no tasks")
        return ExitCode.OK
    task_id = _ask("Which task? (type to find it)", list(_tasks(state)), is_searched=True)
    if task_id is None:
        return ExitCode.INTERRUPTED
    action = _ask(f"{task_id}:", list(_actions(state.plan, state.plan.tasks[task_id])))
    if action == ["set-status", task_id]:
        status = _ask("Which status?", [questionary.Choice(one.value, one.value) for one in Status])
        action = None if status is None else [*action, status]
    return ExitCode.INTERRUPTED if action is None else _run(action)


def _tasks(state: PlanState) -> Iterator[questionary.Choice]:
    stopped = stopped_tasks(state)
    for depth, task in state.plan.walk():
        word = label(state.plan, task, stopped)
        yield questionary.Choice(f"{'  ' * depth}{task.id}  {clean_line(task.title)}  [{word}]", task.id)


def _actions(plan: Plan, task: Task) -> Iterator[questionary.Choice]:
    """Yield what can be done with a task, likeliest first, each with the words of its command."""
    if is_ready(plan, task):
        yield questionary.Choice("Run it", ["execute", task.id])
    elif task.status is Status.WAITING_USER:
        yield questionary.Choice("Decide or answer", ["decide", task.id])
    yield questionary.Choice("Show it", ["show", task.id])
    yield questionary.Choice("Edit it", ["edit", task.id])
    yield questionary.Choice("Set its status", ["set-status", task.id])


def _ask(message: str, choices: Sequence[questionary.Choice], *, is_searched: bool = False) -> Any:
    """Return the value that was chosen; None where it was left open."""
    return questionary.select(
        message,
        choices=choices,
        instruction=" ",
        use_search_filter=is_searched,
        use_jk_keys=False,
        output=terminal_output(),
    ).ask(kbi_msg="")


def _run(words: Sequence[str]) -> ExitCode:
    """Carry out a command as if it had been typed."""
    context = click.get_current_context()
    command = load_command(words[0])
    with command.make_context(words[0], list(words[1:]), parent=context.parent) as typed:
        return ExitCode(command.invoke(typed))
