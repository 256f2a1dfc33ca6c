"""``config``: every key with its value and origin; reading, writing and removing one."""

from collections.abc import Iterator, Mapping

import click

from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.tables import Cell, render_table
from git_blackbird.cli.troubles import warn_problems
from git_blackbird.controller.config_edits import Scope, Written, require_key, unset_key, write_key
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.config_text import key_text, layer_lines, overruled_text, saved_text, shown_value
from git_blackbird.model.keys import Kind
from git_blackbird.model.layers import KeyLayers, layers_of
from git_blackbird.model.settings import Setting
from git_blackbird.model.text import clean_line


# Values that begin with a dash are common here: what no option is, is a value.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", metavar="[KEY", required=False)
@click.argument("value", metavar="[VALUE]]", required=False)
@click.option("--unset", is_flag=True, help="Remove KEY from the place named.")
@click.option("--local", is_flag=True, help="This clone's git configuration; the default.")
@click.option("--project", is_flag=True, help="The project's .blackbird/config.json.")
@click.option("--global", is_flag=True, help="Your ~/.blackbird/config.json.")
@command_options
def config(
    call: Invocation, /, *, name: str | None, value: str | None, unset: bool, **places: bool
) -> ExitCode:
    """Show every key, or read or write one.

    What counts is, in this order: a flag, the environment, this repository's git config, the project's
    file, your git config, your file, the default. Of keys that protect you (stops, reviews, limits) the
    stricter of the project's and your own counts.
    """
    writes = unset or value is not None
    scope = _one_place(places)
    _check_usage(name, value, unset=unset, scope=scope, writes=writes)
    workspace = open_workspace(call.world)
    if name is not None and writes:
        place = Scope(scope or "local")
        written = (
            unset_key(workspace, name, place) if value is None else write_key(workspace, name, value, place)
        )
        _say_written(call, written)
        return ExitCode.OK
    _say_settings(call, workspace, name)
    warn_problems(call.output, workspace)
    return ExitCode.OK


def _one_place(places: Mapping[str, bool]) -> str | None:
    named = [name for name, is_named in places.items() if is_named]
    if len(named) > 1:
        raise UsageError(f"--{named[0]} and --{named[1]} are two places; name one")
    return named[0] if named else None


def _check_usage(
    name: str | None, value: str | None, *, unset: bool, scope: str | None, writes: bool
) -> None:
    if unset and name is None:
        raise UsageError("--unset needs a KEY", hint="git blackbird config --unset KEY")
    if unset and value is not None:
        raise UsageError("--unset takes no VALUE")
    if scope is not None and not writes:
        raise UsageError(f"--{scope} says where to write; it needs a KEY and a VALUE, or --unset KEY")


def _say_settings(call: Invocation, workspace: Workspace, name: str | None) -> None:
    values = workspace.settings.values
    shown = list(values.values()) if name is None else [values[require_key(name).name]]
    rows = [
        (Cell(one.key.name), Cell(shown_value(one)), Cell(clean_line(one.origin, 1000), dim=True))
        for one in shown
    ]
    for line in render_table(rows, None):
        call.output.say(line)
    layers = [layers_of(workspace.settings, one.key.name) for one in shown]
    if name is not None:
        for line in _layer_lines(layers[0]):
            call.output.say(line)
    data = [
        {**setting_data(one), "layers": layer_data(said)} for one, said in zip(shown, layers, strict=True)
    ]
    call.output.data({"settings": data})


def _layer_lines(layers: KeyLayers) -> Iterator[str]:
    """Say what a key is, and what each layer says of it."""
    if layers.key is not None:
        yield f"  {key_text(layers.key)}"
    rows = [
        (Cell(one.standing), Cell(one.value), Cell(one.origin, dim=bool(one.origin)))
        for one in layer_lines(layers)
    ]
    yield from (f"  {line}" for line in render_table(rows, None))


def layer_data(layers: KeyLayers) -> list[dict[str, object]]:
    """Give what the layers say of a key for programs, the strongest first."""
    return [
        {
            "layer": told.given.layer.name.lower(),
            "origin": told.given.origin,
            "value": told.given.value if told.value is None else told.value,
            "standing": standing.value,
            "problem": None if told.problem is None else told.problem.what,
        }
        for told, standing in layers.standings()
    ]


def setting_data(setting: Setting) -> dict[str, object]:
    """Give one key, its value and origin for programs."""
    key = setting.key
    data: dict[str, object] = {
        "key": key.name,
        "value": setting.value,
        "layer": setting.layer.name.lower(),
        "origin": setting.origin,
        "default": key.default,
        "type": key.kind.value,
        "says": key.says,
    }
    return {**data, "range": [key.low, key.high]} if key.kind is Kind.INTEGER else data


def _say_written(call: Invocation, written: Written) -> None:
    call.output.say(saved_text(written.key, written.value, written.place))
    stronger = written.overruled_by
    if stronger is not None:
        call.output.warn(overruled_text(stronger))
    call.output.data(
        {
            "key": written.key,
            "value": written.value,
            "place": written.place,
            "overruledBy": None if stronger is None else stronger.origin,
        }
    )
