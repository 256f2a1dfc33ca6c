"""The table in the completion scripts, made from the commands themselves."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

from git_blackbird.cli.registry import COMMANDS, SETTINGS, cli
from git_blackbird.model.keys import AGENT_NAMES, KEYS, Kind

SCRIPTS = Path(cli.get_command.__code__.co_filename).with_name("completions")
BEGIN, END = "# table: begin\n", "# table: end\n"
UPDATE = bool(os.environ.get("BLACKBIRD_GOLDEN_UPDATE"))

_BY_PLACE = {
    ("add", "task_id"): "text",
    ("agent", "name"): f"words:{'|'.join(AGENT_NAMES)}",
    ("config", "name"): "keys",
    ("config", "value"): "value",
    ("completion", "tasks_of"): f"words:{'|'.join(sorted(COMMANDS))}",
    ("completion", "runs_of"): "tasks",
    ("demo", "folder"): "folder",
    ("deps", "deps"): "deps",
    ("review", "task"): "reviewable",
    ("show", "name"): "commits",
}
_BY_NAME = dict.fromkeys(("task_id", "task_ids", "dep", "deps", "parent"), "tasks") | {"run_id": "runs"}


def render_table() -> str:
    """Give the lines that every script must have between its marks."""
    lines = [f"command {name} - {COMMANDS[name].says}" for name in sorted(COMMANDS)]
    lines += [f"key {key.name} {_kind_of_key(key.kind, key.choices)} {key.says}" for key in KEYS.values()]
    context = arguments_context(cli)
    lines += _options(".", cli, context)
    for name in sorted(COMMANDS):
        command = cli.get_command(context, name)
        assert command is not None
        lines += _options(name, command, arguments_context(command))
        lines += _arguments(name, command)
    return "".join(f"{line}\n" for line in lines)


def arguments_context(command: click.Command) -> click.Context:
    names = SETTINGS["help_option_names"]
    assert isinstance(names, list)
    return click.Context(command, help_option_names=names)


def _kind_of_key(kind: Kind, choices: tuple[str, ...]) -> str:
    if kind is Kind.BOOLEAN:
        return "words:true|false"
    return f"words:{'|'.join(choices)}" if choices else "text"


def _options(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    for option in command.get_params(context):
        if isinstance(option, click.Option):
            kind = "-" if option.is_flag else _kind(name, option)
            for word in (*option.opts, *option.secondary_opts):
                yield f"{name} {word} {kind} {option.help}"


def _arguments(name: str, command: click.Command) -> Iterator[str]:
    arguments = [one for one in command.params if isinstance(one, click.Argument)]
    for place, argument in enumerate(arguments, 1):
        yield f"{name} {place if argument.nargs == 1 else '*'} {_kind(name, argument)} -"


def _kind(command: str, param: click.Parameter) -> str:
    named = _BY_PLACE.get((command, param.name or "")) or _BY_NAME.get(param.name or "")
    if named is not None:
        return named
    if isinstance(param.type, click.Choice):
        return f"words:{'|'.join(map(str, param.type.choices))}"
    return "file" if isinstance(param.type, click.Path) else "text"


def quoted(script: Path) -> str:
    """Give the table as it stands between the single quotes of this script's language."""
    table = render_table()
    if script.suffix == ".fish":
        return table.replace("\\", "\\\\").replace("'", "\\'")
    return table.replace("'", "'\\''")


def update(script: Path) -> None:
    before, _, rest = script.read_text().partition(BEGIN)
    script.write_text(before + BEGIN + quoted(script) + END + rest.partition(END)[2])
