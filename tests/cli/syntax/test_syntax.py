"""The syntax of commands agrees with the code that it names."""

import inspect
from importlib import import_module

import pytest

from git_blackbird.cli.syntax.registry import COMMANDS, load_command


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_code_takes_what_the_syntax_names(name: str) -> None:
    spec = load_command(name)
    module, function = spec.code.split(":")
    code = getattr(import_module(f"git_blackbird.cli.commands.{module}"), function)
    names = {param.name for param in spec.params} - {"as_json", "no_input"}
    inspect.signature(code).bind("call", **dict.fromkeys(map(str, names)))
    assert spec.name == name
