"""``completion``: the scripts that let a shell ask the program what may be typed."""

from pathlib import Path

from git_blackbird.cli.output import CommandContext
from git_blackbird.errors import ExitCode

SCRIPTS = {"bash": "git-blackbird.bash", "zsh": "_git-blackbird", "fish": "git-blackbird.fish"}


def completion(call: CommandContext, /, *, shell: str) -> ExitCode:
    text = (
        Path(__file__).parents[1].joinpath("completions").joinpath(SCRIPTS[shell]).read_text(encoding="utf-8")
    )
    call.output.print(text.removesuffix("\n"))
    call.output.data("setup:CompletionOutput", shell=shell, script=text)
    return ExitCode.OK
