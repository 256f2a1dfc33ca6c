"""``completion``: the scripts that complete commands in a shell, and what they ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.errors import BlackbirdError, ExitCode, UsageError
from git_blackbird.model.text import clean_line

SCRIPTS = {"bash": "git-blackbird.bash", "zsh": "_git-blackbird", "fish": "git-blackbird.fish"}


@click.command()
@click.argument("shell", type=click.Choice(list(SCRIPTS)), metavar="[bash|zsh|fish]", required=False)
@click.option(
    "--tasks", "tasks_of", metavar="COMMAND", help="For the scripts: the tasks that COMMAND takes now."
)
@click.option("--runs", "runs_of", metavar="TASK", help="For the scripts: the runs of TASK.")
@click.option(
    "--deps",
    "deps_of",
    nargs=2,
    metavar="VERB TASK",
    help="For the scripts: the tasks that deps VERB TASK takes.",
)
@command_options
def completion(call: Invocation, /, *, shell: str | None, **asked: Any) -> ExitCode:
    """Print the script that completes commands, options and tasks in a shell.

    An installed program has it where shells look; `eval "$(git blackbird completion bash)"` is for the
    others.
    """
    if sum(one is not None for one in (shell, *asked.values())) != 1:
        raise UsageError("name a shell: bash, zsh or fish")
    if shell is not None:
        text = Path(__file__).with_name("completions").joinpath(SCRIPTS[shell]).read_text(encoding="utf-8")
        call.output.say(text.removesuffix("\n"))
        call.output.data({"shell": shell, "script": text})
        return ExitCode.OK
    offers = _offers(call, **asked)
    for value, says in offers:
        call.output.say(f"{value}\t{says}")
    call.output.data({"offers": [{"value": value, "says": says} for value, says in offers]})
    return ExitCode.OK


def _offers(call: Invocation, **asked: Any) -> list[tuple[str, str]]:
    """Give what can be offered; nothing where that cannot be told, in the middle of someone's typing."""
    try:
        return list(_found(call, **asked))
    except BlackbirdError:
        return []


def _found(
    call: Invocation, *, tasks_of: str | None, runs_of: str | None, deps_of: tuple[str, str] | None
) -> Iterator[tuple[str, str]]:
    # These are loaded here: who only wants the script needs no repository.
    from git_blackbird.controller.offering import offered_deps, offered_runs, offered_tasks  # noqa: PLC0415
    from git_blackbird.controller.workspace import open_workspace  # noqa: PLC0415

    workspace = open_workspace(call.world)
    if runs_of is not None:
        for run in offered_runs(workspace, runs_of):
            yield run.id, clean_line(f"{run.started_at[:19]} {run.provider} {run.status.value}")
        return
    tasks = offered_tasks(workspace, tasks_of or "") if deps_of is None else offered_deps(workspace, *deps_of)
    for task in tasks:
        yield task.id, clean_line(f"{task.title} ({task.status.value})")
