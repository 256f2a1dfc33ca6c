"""Every command by its name, of one word or two."""

import click

from git_blackbird.cli.syntax.registry import COMMANDS, CommandSpec, load_command


def command_named(name: str) -> CommandSpec:
    first, _, second = name.partition(" ")
    command = load_command(first)
    if isinstance(command, click.Group):
        below = command.commands[second]
        assert isinstance(below, CommandSpec)
        return below
    return command


def names_of(first: str) -> list[str]:
    command = load_command(first)
    return [f"{first} {name}" for name in command.commands] if isinstance(command, click.Group) else [first]


NAMES = sorted(name for first in COMMANDS for name in names_of(first))
