"""Commands that install parts of the program in a repository, and take them out: ``hooks`` and ``deinit``."""

import sys

from git_blackbird.cli.output import CommandContext, confirm
from git_blackbird.cli.printed.given import DeinitOutput
from git_blackbird.controller.setup.install import (
    HookAction,
    HookResult,
    HookState,
    HookStatus,
    install_hook,
    list_installed,
    merge_driver_fault,
    merges_plan,
    remove_all,
    uninstall_hook,
    view_hook,
)
from git_blackbird.errors import ExitCode, UsageError

_ACTION_WORDS = {
    HookAction.INSTALLED: "installed",
    HookAction.UPDATED: "updated",
    HookAction.REMOVED: "removed",
    HookAction.RESTORED: "removed; the previous hook is back:",
}
_STATE_WORDS = {
    HookState.INSTALLED: "installed",
    HookState.ABSENT: "not installed",
    HookState.OUTDATED: "installed by another git-blackbird",
    HookState.DISABLED: "installed, and not executable, so that git does not run it",
    HookState.EDITED: "installed, and edited by someone else",
    HookState.REPLACED: "replaced by another hook",
}
_OFFER = """\
The post-commit hook notes which commits agents make, and records a commit of yours
that says `Blackbird-Task: ID` as work on that task. A hook that is already there
runs first. With it comes a merge driver: git merges the plan by task and field."""
_TO_INSTALL = frozenset({HookState.ABSENT, HookState.OUTDATED, HookState.DISABLED})


def hooks(call: CommandContext, action: str) -> ExitCode:
    if action == "status":
        outcome, view = None, view_hook(call.environment)
        _print_state(call, view)
    else:
        result = install_hook(call.environment) if action == "install" else uninstall_hook(call.environment)
        outcome, view = result.outcome, result.view
        _print_result(call, result)
    merges, fault = merges_plan(call.environment), merge_driver_fault(call.environment)
    call.print(f"merge driver for the plan: {fault or ('installed' if merges else 'not installed')}")
    if action == "status" and view.blocked_reason is None and (fault or view.state in _TO_INSTALL):
        call.print("next: git blackbird hooks install")
    if call.as_json:
        from git_blackbird.cli.printed.setup import HooksOutput

        call.data(HooksOutput(outcome, view, merges and fault is None))
    return ExitCode.OK


def offer_hook(call: CommandContext) -> HookResult | None:
    """Offer the hook on a terminal, and name the command elsewhere; None if it was not installed."""
    if call.environment.is_agent:
        return None
    view = view_hook(call.environment)
    if view.state is not HookState.ABSENT or view.blocked_reason is not None:
        return None
    if not call.can_confirm(sys.stdout):
        call.print("the post-commit hook is not installed: git blackbird hooks install")
        return None
    call.print(_OFFER)
    return install_hook_and_report(call) if confirm("Install it?", default=True) else None


def install_hook_and_report(call: CommandContext) -> HookResult:
    """Install the hook and report it.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    result = install_hook(call.environment)
    _print_result(call, result)
    return result


def _print_result(call: CommandContext, result: HookResult) -> None:
    view = result.view
    unchanged = result.outcome is HookAction.UNCHANGED
    words = f"{_STATE_WORDS[view.state]}:" if unchanged else _ACTION_WORDS[result.outcome]
    call.print(f"{words} {view.path}")
    if view.state is HookState.INSTALLED:
        _print_remarks(call, view)


def _print_state(call: CommandContext, view: HookStatus) -> None:
    call.print(f"{_STATE_WORDS[view.state]}: {view.path}")
    for path in view.missing_programs:
        call.print(f"  {path} is gone; without it the hook does nothing")
    if view.blocked_reason is not None:
        call.print(f"  installing is refused: {view.blocked_reason}")
    elif view.state is HookState.ABSENT and view.other:
        call.print("  another hook is there; it would be kept and run first")
    _print_remarks(call, view)


def _print_remarks(call: CommandContext, view: HookStatus) -> None:
    if view.backup is not None and view.state is not HookState.ABSENT:
        runs = "runs first" if view.runs_aside else "is not executable and does not run"
        state = "is kept" if view.state is HookState.REPLACED else runs
        call.print(f"  the previous hook {state}: {view.backup}")
    if view.shared is not None:
        call.warn(view.shared)


def deinit(call: CommandContext, *, yes: bool) -> ExitCode:
    workspace = call.workspace
    installed = list_installed(workspace)
    for text in installed.goes:
        call.print(text)
    for text in installed.stays:
        call.print(f"stays: {text}")
    removed = installed.goes if installed.goes and _is_agreed(call, yes=yes) else ()
    if removed:
        remove_all(workspace)
    call.print("removed git-blackbird from this repository" if removed else "nothing was removed")
    call.data(DeinitOutput(removed))
    return ExitCode.OK


def _is_agreed(call: CommandContext, *, yes: bool) -> bool:
    if not yes and not call.can_confirm(sys.stdout):
        raise UsageError("nobody can be asked whether to remove this", hint="git blackbird deinit --yes")
    return yes or confirm("Remove all of this?", default=False)
