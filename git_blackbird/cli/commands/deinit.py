"""``deinit``: take the program out of a repository, part by part."""

import sys
from collections.abc import Iterable

from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.ui.prompts import confirm
from git_blackbird.controller.core.workspace import open_workspace
from git_blackbird.controller.setup.install import (
    Component,
    ComponentStatus,
    list_installed,
    remove_parts,
)
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.model.base.sanitize import clean_line

_LONGEST = 1000
_ALL = tuple(part for part in Component if part is not Component.PLAN)
_NAMES = "--hooks, --refs, --state, --config, --all, --plan"


def deinit(call: CommandContext, /, *, everything: bool, yes: bool, **named: bool) -> ExitCode:
    asks = not (yes or call.no_input or call.output.as_json) and sys.stdin.isatty() and sys.stdout.isatty()
    chosen = [part for part in Component if named[part.value] or (everything and part in _ALL)]
    if not chosen and not asks:
        raise UsageError("say what to remove", hint=f"some of {_NAMES}")
    workspace = open_workspace(call.environment)
    found = list_installed(workspace)
    for one in found:
        call.output.print(f"{one.part.value:<6}  {clean_line(one.text, _LONGEST)}")
    wanted = _agreed(found, chosen or _ALL) if asks else chosen
    removed = remove_parts(workspace, wanted, is_agreed=asks or yes) if wanted else ()
    _say_removed(call, removed)
    return ExitCode.OK


def _agreed(found: Iterable[ComponentStatus], parts: Iterable[Component]) -> list[Component]:
    """Ask for each of these parts that there is; giving up takes nothing away."""
    return [
        one.part
        for one in found
        if one.part in parts and one.is_there and confirm(f"Remove {one.part.value}?", default=False)
    ]


def _say_removed(call: CommandContext, removed: Iterable[ComponentStatus]) -> None:
    names = [one.part.value for one in removed]
    call.output.print(f"removed: {', '.join(names)}" if names else "nothing was removed")
    call.output.data("setup:DeinitOutput", removed=removed)
