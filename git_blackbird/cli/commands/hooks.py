"""``hooks``: install, remove and show the post-commit hook."""

import sys

from git_blackbird.cli.output import CommandContext, Output
from git_blackbird.cli.ui.prompts import confirm
from git_blackbird.controller.setup.install import (
    HookAction,
    HookResult,
    HookState,
    HookStatus,
    install_hook,
    uninstall_hook,
    view_hook,
)
from git_blackbird.errors import ExitCode
from git_blackbird.model.base.sanitize import clean_line

_INSTALL = "git blackbird hooks install"
_DID = {
    HookAction.INSTALLED: "installed",
    HookAction.UPDATED: "updated",
    HookAction.REMOVED: "removed",
    HookAction.RESTORED: "removed; the previous hook is back:",
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
that says `Blackbird-Task: ID` as work on that task. A hook that is already there runs first."""


def hooks(call: CommandContext, action: str) -> ExitCode:
    if action == "status":
        view = view_hook(call.environment)
        _say_standing(call.output, view)
        _print_json(call.output, view)
        return ExitCode.OK
    done = install_hook(call.environment) if action == "install" else uninstall_hook(call.environment)
    _say_done(call.output, done)
    _print_json(call.output, done.view, done.outcome)
    return ExitCode.OK


def offer_hook(call: CommandContext) -> HookResult | None:
    """Offer the hook on a terminal; None if it is not wanted, or nobody can be asked."""
    if call.no_input or call.output.as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    if call.environment.is_agent:
        return None
    view = view_hook(call.environment)
    if view.state is not HookState.ABSENT or view.blocked_reason is not None:
        return None
    call.output.print(_OFFER)
    return install_hook_and_report(call) if confirm("Install it?", default=True) else None


def install_hook_and_report(call: CommandContext) -> HookResult:
    """Install the hook and say so.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    done = install_hook(call.environment)
    _say_done(call.output, done)
    return done


def _say_done(output: Output, done: HookResult) -> None:
    """Say what installing or uninstalling did."""
    if done.outcome is HookAction.UNCHANGED:
        output.print(f"{_STANDS[done.view.state]}: {_shown(done.view)}")
    else:
        output.print(f"{_DID[done.outcome]} {_shown(done.view)}")
    if done.view.state is HookState.INSTALLED:
        _say_rest(output, done.view)


def _say_standing(output: Output, view: HookStatus) -> None:
    output.print(f"{_STANDS[view.state]}: {_shown(view)}")
    for path in view.missing_programs:
        output.print(f"  {clean_line(path, 1000)} is gone; without it the hook does nothing")
    if view.blocked_reason is not None:
        output.print(f"  installing is refused: {clean_line(view.blocked_reason, 1000)}")
    elif view.state is HookState.ABSENT and view.other:
        output.print("  another hook is there; it would be kept and run first")
    _say_rest(output, view)
    if view.blocked_reason is None and view.state in {HookState.ABSENT, HookState.OUTDATED}:
        output.print(f"next: {_INSTALL}")


def _say_rest(output: Output, view: HookStatus) -> None:
    if view.backup is not None and view.state is not HookState.ABSENT:
        where = clean_line(str(view.backup), 1000)
        runs = "runs first" if view.runs_aside else "is not executable and does not run"
        kept = "is kept" if view.state is HookState.REPLACED else runs
        output.print(f"  the previous hook {kept}: {where}")
    if view.shared is not None:
        output.warn(view.shared)


def _shown(view: HookStatus) -> str:
    return clean_line(str(view.path), 1000)


def _print_json(output: Output, view: HookStatus, outcome: HookAction | None = None) -> None:
    output.data("setup:HooksOutput", view, outcome=outcome)
