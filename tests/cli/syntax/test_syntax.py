"""The syntax of commands agrees with the code that it names."""

import inspect
from importlib import import_module

import click
import pytest

from git_blackbird.cli.syntax.command_spec import CommandSpec
from git_blackbird.cli.syntax.registry import COMMANDS, cli


def spec_of(name: str) -> CommandSpec:
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, CommandSpec)
    return command


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_code_takes_what_the_syntax_names(name: str) -> None:
    spec = spec_of(name)
    module, function = spec.code.split(":")
    code = getattr(import_module(f"git_blackbird.cli.commands.{module}"), function)
    names = {param.name for param in spec.params} - {"as_json", "no_input"}
    inspect.signature(code).bind("call", **dict.fromkeys(map(str, names)))
    assert spec.name == name
