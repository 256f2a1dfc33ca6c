"""The command pick: find a task by typing, then do something with it."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

import click
import questionary
from questionary.prompts.common import InquirerControl

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.syntax.registry import load_command
from git_blackbird.cli.ui.prompts import terminal_output
from git_blackbird.controller.queries.listing import labels_by_records
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.document import line
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import Due, due_of
from git_blackbird.model.plan.graph import is_ready, state_label
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState

Value = TypeVar("Value")


def pick(call: CommandContext) -> ExitCode:
    require_list(call, "pick asks on a terminal", hint="git blackbird list    # then name a task")
    state = call.workspace.plan_state()
    if not state.plan.tasks:
        call.print("no tasks")
        return ExitCode.OK
    task_id = _find(call, list(_tasks(state)))
    if task_id is None:
        return ExitCode.INTERRUPTED
    action = choose(f"{task_id}:", list(_actions(state, state.plan.tasks[task_id])))
    return ExitCode.INTERRUPTED if action is None else _run(action)


def require_list(call: CommandContext, why: str, hint: str) -> None:
    """Refuse to choose from a list where nobody is asked, or no cursor moves. Raises UsageError."""
    if call.no_input or call.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(why, hint=hint)
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal moves no cursor", hint=hint)


def choose(message: str, choices: Sequence[tuple[str, Value]]) -> Value | None:
    """Return the value that was chosen by its label; None where the question was left open."""
    listed = [questionary.Choice(line(label).text, value) for label, value in choices]
    chosen: Value | None = _select(message, listed).ask(kbi_msg="")
    return chosen


def _tasks(state: PlanState) -> Iterator[questionary.Choice]:
    labels = labels_by_records(state)
    for depth, task in state.plan.walk():
        word = state_label(state.plan, task, labels)
        yield questionary.Choice(line(f"{'  ' * depth}{task.id}  {task.title}  [{word}]").text, task.id)


def _actions(state: PlanState, task: Task) -> Iterator[tuple[str, list[str]]]:
    """Yield what can be done with a task, likeliest first, each with the words of its command."""
    run = state.history(task.id).latest
    due = None if run is None or not task.is_leaf else due_of(run)
    if is_ready(state.plan, task):
        yield "Run it", ["execute", task.id]
    elif due is Due.DECIDE:
        yield "Decide on it", ["decide", task.id]
    elif due in {Due.ANSWER, Due.ASK_PAUSED, Due.CONTINUE}:
        yield "Continue it", ["resume", task.id]
    yield "Show it", ["show", task.id]
    yield "Edit it", ["edit", task.id]
    yield "Set its status", ["set-status", task.id]


def _find(call: CommandContext, choices: Sequence[questionary.Choice]) -> TaskId | None:
    """Ask for a task, which is found by typing; return None if the question was left open."""
    while True:
        question = _select("Which task? (type to find it)", choices, is_searched=True)
        chosen: TaskId | None = question.ask(kbi_msg="")
        # All are listed where none has what was typed, and none of them is meant.
        controls = question.application.layout.find_all_controls()
        filters = (one.search_filter for one in controls if isinstance(one, InquirerControl))
        typed = "".join(filter(None, filters)).lower()
        if chosen is None or any(typed in str(one.title).lower() for one in choices):
            return chosen
        call.print(f"no task has {typed}")


def _select(
    message: str, choices: Sequence[questionary.Choice], *, is_searched: bool = False
) -> questionary.Question:
    return questionary.select(
        message,
        choices=choices,
        instruction=" ",
        use_search_filter=is_searched,
        use_jk_keys=False,
        output=terminal_output(),
    )


def _run(words: Sequence[str]) -> ExitCode:
    """Carry out a command as if it had been typed."""
    context = click.get_current_context()
    command = load_command(words[0])
    with command.make_context(words[0], list(words[1:]), parent=context.parent) as typed:
        return ExitCode(command.invoke(typed))
