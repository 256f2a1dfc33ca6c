"""Commands that print files of the program: ``schema`` and ``completion``."""

import json
from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.syntax.completion import SCHEMAS, schema_names
from git_blackbird.errors import ExitCode, UsageError

_SCRIPTS = Path(__file__).parents[1] / "completions"
SCRIPTS = {"bash": "git-blackbird.bash", "zsh": "_git-blackbird", "fish": "git-blackbird.fish"}


def schema(call: CommandContext, /, *, name: str | None) -> ExitCode:
    names, content = schema_names(), None
    if name is None:
        call.print("\n".join(names))
    elif name not in names:
        raise UsageError(f"there is no schema {name!r}", hint="`git blackbird schema` lists them")
    else:
        text = Path(SCHEMAS, f"{name}.json").read_text(encoding="utf-8")
        call.print(text.removesuffix("\n"))
        names, content = [name], json.loads(text)
    call.data("setup:SchemaOutput", names=names, schema_=content)
    return ExitCode.OK


def completion(call: CommandContext, /, *, shell: str) -> ExitCode:
    text = (_SCRIPTS / SCRIPTS[shell]).read_text(encoding="utf-8")
    call.print(text.removesuffix("\n"))
    call.data("setup:CompletionOutput", shell=shell, script=text)
    return ExitCode.OK
