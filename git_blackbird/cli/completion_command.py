"""``completion``: the scripts that complete commands in a shell, and what they ask for."""

from collections.abc import Iterator
from pathlib import Path

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
@command_options
def completion(call: Invocation, *, shell: str | None, tasks_of: str | None, runs_of: str | None) -> ExitCode:
    """Print the script that completes commands, options and tasks in a shell.

    An installed program has it where shells look; `eval "$(git blackbird completion bash)"` is for the
    others.
    """
    if sum(one is not None for one in (shell, tasks_of, runs_of)) != 1:
        raise UsageError("name a shell: bash, zsh or fish")
    if shell is not None:
        text = Path(__file__).with_name("completions").joinpath(SCRIPTS[shell]).read_text(encoding="utf-8")
        call.output.say(text.removesuffix("\n"))
        call.output.data({"shell": shell, "script": text})
        return ExitCode.OK
    offers = _offers(call, tasks_of, runs_of)
    for value, says in offers:
        call.output.say(f"{value}\t{says}")
    call.output.data({"offers": [{"value": value, "says": says} for value, says in offers]})
    return ExitCode.OK


def _offers(call: Invocation, tasks_of: str | None, runs_of: str | None) -> list[tuple[str, str]]:
    """Give what can be offered; nothing where that cannot be told, in the middle of someone's typing."""
    try:
        return list(_found(call, tasks_of, runs_of))
    except BlackbirdError:
        return []


def _found(call: Invocation, tasks_of: str | None, runs_of: str | None) -> Iterator[tuple[str, str]]:
    # These are loaded here: who only wants the script needs no repository.
    from git_blackbird.controller.offering import offered_runs, offered_tasks  # noqa: PLC0415
    from git_blackbird.controller.workspace import open_workspace  # noqa: PLC0415

    workspace = open_workspace(call.world)
    if tasks_of is not None:
        for task in offered_tasks(workspace, tasks_of):
            yield task.id, clean_line(f"{task.title} ({task.status.value})")
    else:
        for run in offered_runs(workspace, runs_of or ""):
            yield run.id, clean_line(f"{run.started_at[:19]} {run.provider} {run.status.value}")
