"""What every command's code is given: the world, and how the caller wants to be spoken to."""

from typing import NamedTuple

import click

from git_blackbird.cli.app_state import AppState
from git_blackbird.cli.output import Output
from git_blackbird.controller.core.environment import Environment


class CommandContext(NamedTuple):
    """One call of the program: its world, where it prints, and whether a person may be asked."""

    environment: Environment
    output: Output
    no_input: bool


def command_context(context: click.Context, *, as_json: bool, no_input: bool) -> CommandContext:
    """Begin the call that click is about to make."""
    root: AppState = context.obj
    root.as_json = as_json
    root.begin()
    output = Output(command=context.info_name or "", as_json=as_json, environment=root.environment)
    return CommandContext(root.environment, output, no_input)
