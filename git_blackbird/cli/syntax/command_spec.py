"""What may be typed for a command, apart from the code that carries it out.

``--help`` and completion load the modules of this folder, which need click alone; the code is imported when
a command is called.
"""

import gc
from importlib import import_module
from typing import Any

import click

from git_blackbird import trace
from git_blackbird.errors import ExitCode


class CommandSpec(click.Command):
    """A command: its name, arguments, options and help, and where its code is (``module:function``).

    The function is given a CommandContext and the values of the parameters. ``--json`` and ``--no-input`` are
    parameters of every command.
    """

    def __init__(
        self, name: str, code: str, help_text: str, *params: click.Parameter, **settings: Any
    ) -> None:
        common = (
            flag("Print JSON for programs.", "--json", "as_json"),
            flag("Never ask; stop where someone must decide.", "--no-input"),
        )
        super().__init__(name, params=[*params, *common], help=help_text, callback=self._call, **settings)
        self.code = code

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse options of which only the last would count. Raises click.UsageError."""
        options = args[: args.index("--")] if "--" in args else args
        # Options that store different values under one name.
        choices = {
            param.opts[0]: param.name
            for param in self.params
            if isinstance(param, click.Option) and isinstance(param.flag_value, str)
        }
        given: dict[str | None, str] = {}
        for option in filter(choices.__contains__, options):
            first = given.setdefault(choices[option], option)
            if first != option:
                raise click.UsageError(f"{first} and {option} do not go together", ctx)
        return super().parse_args(ctx, args)

    def _call(self, **values: Any) -> ExitCode:
        from git_blackbird.cli.output import command_context  # noqa: PLC0415  # loads what commands share

        trace.event("command", self.name)
        module, function = self.code.split(":")
        body = getattr(import_module(f"git_blackbird.cli.commands.{module}"), function)
        context = click.get_current_context()
        call = command_context(context, as_json=values.pop("as_json"), no_input=values.pop("no_input"))
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        code: ExitCode = body(call, **values)
        return code


def flag(help_text: str, *names: str) -> click.Option:
    """Make an option without a value."""
    return click.Option(names, is_flag=True, help=help_text)


def text(value: str) -> str:
    """Return an option's text unchanged. Help shows this function's name as its type.

    Raises click.BadParameter for what is not UTF-8: it would be saved as another text.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise click.BadParameter("it is not UTF-8") from error
    return value
