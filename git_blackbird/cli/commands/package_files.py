"""Commands that print files of the program: ``schema`` and ``completion``."""

import json
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.syntax.completion import SCHEMAS, schema_names
from git_blackbird.errors import ExitCode, UsageError


def schema(call: CommandContext, /, *, name: str | None) -> ExitCode:
    names = schema_names() if name is None else [name]
    text = None if name is None else _read(name)
    call.output.print("\n".join(names) if text is None else text.removesuffix("\n"))
    content = None if text is None else json.loads(text)
    call.output.data("setup:SchemaOutput", names=names, schema_=content)
    return ExitCode.OK


def _read(name: str) -> str:
    if name not in schema_names():
        raise UsageError(f"there is no schema {name!r}", hint="`git blackbird schema` lists them")
    with open(f"{SCHEMAS}/{name}.json", encoding="utf-8") as file:  # noqa: PTH123  # one file of this package
        return file.read()


SCRIPTS = {"bash": "git-blackbird.bash", "zsh": "_git-blackbird", "fish": "git-blackbird.fish"}


def completion(call: CommandContext, /, *, shell: str) -> ExitCode:
    text = (
        Path(__file__).parents[1].joinpath("completions").joinpath(SCRIPTS[shell]).read_text(encoding="utf-8")
    )
    call.output.print(text.removesuffix("\n"))
    call.output.data("setup:CompletionOutput", shell=shell, script=text)
    return ExitCode.OK
