"""``config``: every key with its value and origin; reading, writing and removing one."""

from collections.abc import Iterator, Mapping

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.tables import Cell, render_table
from git_blackbird.controller.config import ConfigChange, Scope, require_key, unset_key, write_key
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.display.config import (
    key_text,
    layer_lines,
    overruled_text,
    saved_text,
    value_text,
)
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.settings import KeyLayers, Setting


def config(
    call: CommandContext, /, *, name: str | None, value: str | None, unset: bool, **places: bool
) -> ExitCode:
    writes = unset or value is not None
    scope = _one_place(places)
    _check_usage(name, value, unset=unset, scope=scope, writes=writes)
    workspace = open_workspace(call.environment)
    if name is not None and writes:
        place = Scope(scope) if scope else None
        written = (
            unset_key(workspace, name, place)
            if value is None
            else write_key(workspace, name, value, place or Scope.LOCAL)
        )
        _say_written(call, written)
        return ExitCode.OK
    _say_settings(call, workspace, name)
    call.warn_problems(workspace)
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


def setting_row(setting: Setting) -> tuple[Cell, Cell, Cell]:
    """Format a key, the value that counts and its origin."""
    origin = Cell(clean_line(setting.origin, 1000), dim=True)
    return Cell(setting.key.name), Cell(value_text(setting.value)), origin


def _say_settings(call: CommandContext, workspace: Workspace, name: str | None) -> None:
    settings = workspace.settings
    names = list(settings.applied) if name is None else [require_key(name).name]
    layers = list(map(settings.layers_of, names))
    call.lines(render_table([setting_row(one.applied) for one in layers], None))
    if name is not None:
        call.lines(_layer_lines(layers[0]))
    call.data("setup:ConfigOutput", settings=layers)


def _layer_lines(layers: KeyLayers) -> Iterator[str]:
    """Say what a key is, and what each layer says of it."""
    yield f"  {key_text(layers.key)}"
    rows = [
        (Cell(row.effect), Cell(row.value), Cell(row.origin, dim=bool(row.origin)))
        for row in layer_lines(layers)
    ]
    yield from (f"  {line}" for line in render_table(rows, None))


def _say_written(call: CommandContext, written: ConfigChange) -> None:
    call.print(saved_text(written.key, written.value, written.place))
    stronger = written.overruled_by
    if stronger is not None:
        call.warn(overruled_text(stronger))
    call.data("setup:ConfigChangeOutput", written)
