"""Commands that set the program up in a repository, and take it out: ``agent``, ``hooks`` and ``deinit``."""

import sys
from collections.abc import Iterator

import click

from git_blackbird.cli.commands.config import setting_row
from git_blackbird.cli.output import CommandContext, Output, confirm, print_error, warn_problems
from git_blackbird.cli.render.tables import Cell, render_facts, render_section, render_table
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.agents import AgentList, AgentView, Reviewer, view_agent, view_agents
from git_blackbird.controller.setup.hooks import (
    HookAction,
    HookResult,
    HookState,
    HookStatus,
    install_hook,
    uninstall_hook,
    view_hook,
)
from git_blackbird.controller.setup.uninstall import Component, UninstallRequest, list_installed, remove_parts
from git_blackbird.errors import AgentUnavailableError, ExitCode, UsageError
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import Setting

_HEADINGS = ("  Agent", "Version", "State", "Login")


def agent(call: CommandContext, /, *, name: str | None) -> ExitCode:
    workspace = open_workspace(call.environment)
    if name is None:
        agents = view_agents(workspace)
        call.output.lines(_list_lines(agents))
        call.output.data("setup:AgentsOutput", agents)
        code = ExitCode.OK
    else:
        code = _show_one(call.output, workspace, name)
    warn_problems(call.output, workspace)
    return code


def _list_lines(agents: AgentList) -> Iterator[str]:
    headings = tuple(Cell(text, bold=True) for text in _HEADINGS)
    yield from render_table([headings, *map(_row, agents.agents)], None)
    yield ""
    choice = agents.choice
    yield f"{choice.value} is chosen by {_origin(choice)}; to choose another:"
    command, remark = "git config blackbird.agent NAME", "in this clone"
    if choice.layer is Layer.ENVIRONMENT:
        command, remark = f"unset {choice.origin}", "it wins over every configuration"
    commands = {command: remark, "git blackbird execute --agent NAME": "for one call"}
    yield from render_table(((f"  {name}", Cell(text, dim=True)) for name, text in commands.items()), None)
    for reviewer in agents.reviewers:
        made_by = f"{reviewer.source} reviews are made by {reviewer.agent}{_model(reviewer, '({})')}"
        yield f"{made_by}, by {_origin(reviewer.choice)}: {_where(reviewer)}"
    yield "a session continues with the agent that started it; `git blackbird agent NAME` shows one in full"


def _model(reviewer: Reviewer, form: str) -> str:
    return f" {form.format(clean_line(reviewer.model))}" if reviewer.model else ""


def _where(reviewer: Reviewer) -> str:
    return "read-only in the worktree" if reviewer.read_only else "in a throwaway checkout"


def _row(view: AgentView) -> tuple[Cell | str, ...]:
    return (
        Cell(f"{'*' if view.is_chosen else ' '} {view.name}", bold=view.is_chosen),
        _cleaned(view.inspection.version),
        _state_cell(view, _cleaned(view.inspection.blocked_reason)),
        _cleaned(view.inspection.login),
    )


def _state_cell(view: AgentView, otherwise: str) -> Cell:
    return Cell("can start", "green") if view.can_start else Cell(otherwise, "red")


def _origin(setting: Setting) -> str:
    return clean_line(setting.origin, _MAX_LENGTH)


def _cleaned(text: str | None) -> str:
    return clean_line(text or "", _MAX_LENGTH) or "-"


def _show_one(output: Output, workspace: Workspace, name: str) -> ExitCode:
    view = view_agent(workspace, name)
    output.lines(_agent_lines(view, workspace.settings.applied["agent"]))
    output.data("setup:AgentOutput", view)
    if view.can_start:
        return ExitCode.OK
    # The object for programs has it already: one line is all that standard output gets.
    error = AgentUnavailableError(view.inspection.blocked_reason or "", hint=view.inspection.hint)
    print_error(error, as_json=False)
    return error.exit_code


def _agent_lines(view: AgentView, choice: Setting) -> Iterator[str]:
    state = _state_cell(view, "cannot start")
    yield f"{click.style(view.name, bold=True)}  {state.styled(state.text)}"
    yield from render_facts(_facts(view, choice))
    if view.can_start:
        yield from render_section("can", render_table(_abilities(view), None))
    yield from render_section("configured", render_table(map(setting_row, view.settings), None))
    yield from render_section("good to know", map(_cleaned, view.inspection.remarks))


def _facts(view: AgentView, choice: Setting) -> Iterator[tuple[str, str]]:
    inspection = view.inspection
    yield "chosen", f"{'yes' if view.is_chosen else f'no: {choice.value} is'}, by {_origin(choice)}"
    yield "program", _cleaned(inspection.program)
    yield "version", _cleaned(inspection.version)
    yield "login", _cleaned(inspection.login)
    yield "may", _cleaned(inspection.powers)
    yield "as reviewer", _cleaned(inspection.reviews)
    for reviewer in view.reviews:
        made_by = f"of each change{_model(reviewer, 'with {}')}, by {_origin(reviewer.choice)}"
        yield f"{reviewer.source} review", f"{made_by}: {_where(reviewer)}"


def _abilities(view: AgentView) -> Iterator[tuple[str, Cell]]:
    can = view.abilities
    for name, has in (
        ("continue a session", can.resume),
        ("enforce a JSON schema", can.schema),
        ("run read-only", can.read_only),
        ("use a given session id", can.chooses_session),
        ("report what a run cost", can.reports_cost),
    ):
        yield name, Cell("yes", "green") if has else Cell("no", "yellow")


_MAX_LENGTH = 1000
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
    HookState.EDITED: "installed, and edited by someone else",
    HookState.REPLACED: "replaced by another hook",
}
_OFFER = """\
The post-commit hook notes which commits agents make, and records a commit of yours
that says `Blackbird-Task: ID` as work on that task. A hook that is already there runs first."""


def hooks(call: CommandContext, action: str) -> ExitCode:
    if action == "status":
        outcome, view = None, view_hook(call.environment)
        _print_state(call.output, view)
    else:
        result = install_hook(call.environment) if action == "install" else uninstall_hook(call.environment)
        outcome, view = result.outcome, result.view
        _print_result(call.output, result)
    call.output.data("setup:HooksOutput", view, outcome=outcome)
    return ExitCode.OK


def offer_hook(call: CommandContext) -> HookResult | None:
    """Offer the hook on a terminal; None if it is not wanted, or nobody can be asked."""
    if not call.can_confirm(sys.stdout) or call.environment.is_agent:
        return None
    view = view_hook(call.environment)
    if view.state is not HookState.ABSENT or view.blocked_reason is not None:
        return None
    call.output.print(_OFFER)
    return install_hook_and_report(call) if confirm("Install it?", default=True) else None


def install_hook_and_report(call: CommandContext) -> HookResult:
    """Install the hook and report it.

    Raises RequestError where something would be overwritten, UnusableError.
    """
    result = install_hook(call.environment)
    _print_result(call.output, result)
    return result


def _print_result(output: Output, result: HookResult) -> None:
    view = result.view
    unchanged = result.outcome is HookAction.UNCHANGED
    words = f"{_STATE_WORDS[view.state]}:" if unchanged else _ACTION_WORDS[result.outcome]
    output.print(f"{words} {clean_line(str(view.path), _MAX_LENGTH)}")
    if view.state is HookState.INSTALLED:
        _print_remarks(output, view)


def _print_state(output: Output, view: HookStatus) -> None:
    output.print(f"{_STATE_WORDS[view.state]}: {clean_line(str(view.path), _MAX_LENGTH)}")
    for path in view.missing_programs:
        output.print(f"  {clean_line(path, _MAX_LENGTH)} is gone; without it the hook does nothing")
    if view.blocked_reason is not None:
        output.print(f"  installing is refused: {clean_line(view.blocked_reason, _MAX_LENGTH)}")
    elif view.state is HookState.ABSENT and view.other:
        output.print("  another hook is there; it would be kept and run first")
    _print_remarks(output, view)
    if view.blocked_reason is None and view.state in {HookState.ABSENT, HookState.OUTDATED}:
        output.print("next: git blackbird hooks install")


def _print_remarks(output: Output, view: HookStatus) -> None:
    if view.backup is not None and view.state is not HookState.ABSENT:
        runs = "runs first" if view.runs_aside else "is not executable and does not run"
        state = "is kept" if view.state is HookState.REPLACED else runs
        output.print(f"  the previous hook {state}: {clean_line(str(view.backup), _MAX_LENGTH)}")
    if view.shared is not None:
        output.warn(view.shared)


def deinit(call: CommandContext, /, *, everything: bool, yes: bool, **options: bool) -> ExitCode:
    asks = not yes and call.can_confirm(sys.stdout)
    default = [part for part in Component if part is not Component.PLAN]
    chosen = [part for part in Component if options[part.value] or (everything and part in default)]
    if not chosen and not asks:
        hint = "some of --hooks, --refs, --state, --config, --all, --plan"
        raise UsageError("say what to remove", hint=hint)
    workspace = open_workspace(call.environment)
    installed = list_installed(workspace)
    for status in installed:
        call.output.print(f"{status.part.value:<6}  {clean_line(status.text, _MAX_LENGTH)}")
    if asks:
        offered = [
            status.part for status in installed if status.is_there and status.part in (chosen or default)
        ]
        chosen = [part for part in offered if confirm(f"Remove {part.value}?", default=False)]
    request = UninstallRequest(frozenset(chosen), is_agreed=asks or yes)
    removed = remove_parts(workspace, request) if chosen else ()
    names = ", ".join(status.part.value for status in removed)
    call.output.print(f"removed: {names}" if names else "nothing was removed")
    call.output.data("setup:DeinitOutput", removed=removed)
    return ExitCode.OK
