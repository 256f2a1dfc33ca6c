"""``hooks``: put the post-commit hook in its place, take it away, say how it stands."""

import sys
from typing import Any

import click

from git_blackbird.cli.confirm import confirm
from git_blackbird.cli.context import Invocation, command_options
from git_blackbird.cli.output import Output
from git_blackbird.controller.hooks import (
    Done,
    HookState,
    HookView,
    Outcome,
    install_hook,
    uninstall_hook,
    view_hook,
)
from git_blackbird.errors import ExitCode
from git_blackbird.model.text import clean_line

_INSTALL = "git blackbird hooks install"
_DID = {
    Outcome.INSTALLED: "installed",
    Outcome.UPDATED: "updated",
    Outcome.REMOVED: "removed",
    Outcome.RESTORED: "removed; the hook from before is back:",
}
_STANDS = {
    HookState.INSTALLED: "installed",
    HookState.ABSENT: "not installed",
    HookState.OUTDATED: "installed by another git-blackbird",
    HookState.EDITED: "installed, and edited by someone else",
    HookState.REPLACED: "replaced by another hook",
}
_OFFER = """\
The post-commit hook notes which commits agents make, and records a commit of yours
that says `Blackbird-Task: ID` as work on that task. A hook that is there runs first."""


@click.command()
@click.argument(
    "action",
    type=click.Choice(["install", "uninstall", "status"]),
    default="status",
    metavar="[install|uninstall|status]",
)
@command_options
def hooks(call: Invocation, action: str) -> ExitCode:
    """Install or remove the post-commit hook, or show how it stands.

    The hook notes which commits agents make, and records a commit of yours that says `Blackbird-Task: ID` as
    work on that task. It goes where git looks for hooks, also with core.hooksPath; a hook that is there is
    kept and runs first, and uninstall puts it back as it was.
    """
    if action == "status":
        view = view_hook(call.world)
        _say_standing(call.output, view)
        call.output.data(hook_data(view))
        return ExitCode.OK
    done = install_hook(call.world) if action == "install" else uninstall_hook(call.world)
    _say_done(call.output, done)
    call.output.data({"outcome": done.outcome.value, **hook_data(done.view)})
    return ExitCode.OK


def offer_hook(call: Invocation) -> Done | None:
    """Ask on a terminal whether the hook shall be installed; None where nobody wants it or is here."""
    if call.no_input or call.output.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    if call.world.is_agent:
        return None
    view = view_hook(call.world)
    if view.state is not HookState.ABSENT or view.obstacle is not None:
        return None
    call.output.say(_OFFER)
    return install_aloud(call) if confirm("Install it?", default=True) else None


def install_aloud(call: Invocation) -> Done:
    """Install the hook and say so.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    done = install_hook(call.world)
    _say_done(call.output, done)
    return done


def _say_done(output: Output, done: Done) -> None:
    """Say what installing or uninstalling did."""
    if done.outcome is Outcome.UNCHANGED:
        output.say(f"{_STANDS[done.view.state]}: {_shown(done.view)}")
    else:
        output.say(f"{_DID[done.outcome]} {_shown(done.view)}")
    if done.view.state is HookState.INSTALLED:
        _say_rest(output, done.view)


def _say_standing(output: Output, view: HookView) -> None:
    output.say(f"{_STANDS[view.state]}: {_shown(view)}")
    for path in view.gone:
        output.say(f"  {clean_line(path, 1000)} is gone; without it the hook does nothing")
    if view.obstacle is not None:
        output.say(f"  installing is refused: {clean_line(view.obstacle, 1000)}")
    elif view.state is HookState.ABSENT and view.other:
        output.say("  another hook is there; installing keeps it, and ours runs it first")
    _say_rest(output, view)
    if view.obstacle is None and view.state in {HookState.ABSENT, HookState.OUTDATED}:
        output.say(f"next: {_INSTALL}")


def _say_rest(output: Output, view: HookView) -> None:
    if view.aside is not None and view.state is not HookState.ABSENT:
        where = clean_line(str(view.aside), 1000)
        runs = "runs first" if view.runs_aside else "is not executable and does not run"
        kept = "is kept" if view.state is HookState.REPLACED else runs
        output.say(f"  the hook from before {kept}: {where}")
    if view.shared is not None:
        output.warn(view.shared)


def _shown(view: HookView) -> str:
    return clean_line(str(view.path), 1000)


def hook_data(view: HookView) -> dict[str, Any]:
    """Give how the hook stands, for programs."""
    return {
        "path": str(view.path),
        "state": view.state.value,
        "other": view.other,
        "before": None if view.aside is None else str(view.aside),
        "runsBefore": view.runs_aside,
        "obstacle": view.obstacle,
        "gone": list(view.gone),
        "shared": view.shared,
    }
