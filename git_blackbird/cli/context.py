"""What every command is given: the world, and how the caller wants to be spoken to."""

import functools
from collections.abc import Callable
from typing import Any, Concatenate, NamedTuple, ParamSpec

import click

from git_blackbird.cli.output import Output
from git_blackbird.cli.root import Root
from git_blackbird.controller.world import World
from git_blackbird.errors import ExitCode

P = ParamSpec("P")


class Invocation(NamedTuple):
    """One call of the program: its world, where it prints, and whether a person may be asked."""

    world: World
    output: Output
    no_input: bool


Body = Callable[Concatenate[Invocation, P], ExitCode]


def command_options(body: Body[P]) -> Callable[..., ExitCode]:
    """Give a command what all have: ``--json`` and ``--no-input``; the body gets an Invocation."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
    @click.option("--no-input", is_flag=True, help="Never ask; stop where someone must decide.")
    @click.pass_context
    @functools.wraps(body)
    def command(
        context: click.Context, /, *args: Any, as_json: bool, no_input: bool, **kwargs: Any
    ) -> ExitCode:
        root: Root = context.obj
        root.as_json = as_json
        root.begin()
        output = Output(command=context.info_name or "", as_json=as_json, world=root.world)
        return body(Invocation(root.world, output, no_input), *args, **kwargs)

    return command
