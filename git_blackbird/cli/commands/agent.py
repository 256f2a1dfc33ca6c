"""``agent``: which agents there are here, what each can do, which is chosen and why."""

from collections.abc import Iterator

import click

from git_blackbird.cli.commands.config import setting_row
from git_blackbird.cli.output import CommandContext, print_error
from git_blackbird.cli.render.tables import Cell, render_facts, render_section, render_table
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.agents import AgentList, AgentView, Reviewer, view_agent, view_agents
from git_blackbird.errors import AgentUnavailableError, ExitCode
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import Setting

_MAX_LENGTH = 1000
_HEADINGS = ("  Agent", "Version", "State", "Login")


def agent(call: CommandContext, /, *, name: str | None) -> ExitCode:
    workspace = open_workspace(call.environment)
    if name is None:
        agents = view_agents(workspace)
        call.lines(_list_lines(agents))
        call.data("setup:AgentsOutput", agents)
        code = ExitCode.OK
    else:
        code = _show_one(call, workspace, name)
    call.warn_problems(workspace)
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


def _show_one(call: CommandContext, workspace: Workspace, name: str) -> ExitCode:
    view = view_agent(workspace, name)
    call.lines(_agent_lines(view, workspace.settings.applied["agent"]))
    call.data("setup:AgentOutput", view)
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
