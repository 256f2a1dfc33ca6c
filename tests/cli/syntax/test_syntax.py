"""The syntax of commands agrees with the code that it names."""

import inspect
from importlib import import_module

import pytest

from tests.cli.syntax.names import NAMES, command_named


@pytest.mark.parametrize("name", NAMES)
def test_the_code_takes_what_the_syntax_names(name: str) -> None:
    spec = command_named(name)
    module, function = spec.code.split(":")
    code = getattr(import_module(f"git_blackbird.cli.commands.{module}"), function)
    names = {param.name for param in spec.params} - {"as_json", "no_input"}
    inspect.signature(code).bind("call", **dict.fromkeys(map(str, names)))
    assert spec.name == name.rsplit(maxsplit=1)[-1]
