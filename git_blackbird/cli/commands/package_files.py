"""Commands for other programs: ``schema`` describes files and outputs, ``completion`` prints a script."""

import json
from collections.abc import Sequence
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.printed.given import CompletionOutput, SchemaOutput
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.document import block

_SCRIPTS = Path(__file__).parents[1] / "completions"
SCRIPTS = {"bash": "git-blackbird.bash", "zsh": "_git-blackbird", "fish": "git-blackbird.fish"}


def schema(call: CommandContext, /, *, name: str | None) -> ExitCode:
    from git_blackbird.cli import schemas  # loads what all commands print

    names: Sequence[str] = schemas.NAMES
    content = None
    if name is None:
        call.lines(names)
    elif name not in names:
        raise UsageError(f"there is no schema {name!r}", hint="`git blackbird schema` lists them")
    else:
        text = schemas.schema(name)
        call.show(block(text))
        names, content = [name], json.loads(text)
    call.data(SchemaOutput(names, content))
    return ExitCode.OK


def completion(call: CommandContext, /, *, shell: str) -> ExitCode:
    text = (_SCRIPTS / SCRIPTS[shell]).read_text(encoding="utf-8")
    call.show(block(text))
    call.data(CompletionOutput(shell, text))
    return ExitCode.OK
