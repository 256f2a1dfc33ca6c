"""``agent``: which agents there are here, what each can do, which is chosen and why."""

from collections.abc import Iterator

import click

from git_blackbird.cli.commands.config import setting_row
from git_blackbird.cli.output import CommandContext, Output, print_error, warn_problems
from git_blackbird.cli.render.tables import Cell, render_facts, render_section, render_table
from git_blackbird.controller.core.workspace import Workspace, open_workspace
from git_blackbird.controller.queries.agents import AgentList, AgentView, Reviewer, view_agent, view_agents
from git_blackbird.errors import AgentUnavailableError, ExitCode
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import Setting

_HEADINGS = ("  Agent", "Version", "State", "Login")
_LONGEST = 1000


def agent(call: CommandContext, /, *, name: str | None) -> ExitCode:
    workspace = open_workspace(call.environment)
    if name is None:
        _list_all(call.output, view_agents(workspace))
        code = ExitCode.OK
    else:
        code = _show_one(call.output, workspace, name)
    warn_problems(call.output, workspace)
    return code


def _list_all(output: Output, found: AgentList) -> None:
    output.lines(_list_lines(found))
    output.data("setup:AgentsOutput", found)


def _list_lines(found: AgentList) -> Iterator[str]:
    headings = tuple(Cell(text, bold=True) for text in _HEADINGS)
    yield from render_table([headings, *map(_row, found.agents)], None)
    yield ""
    yield f"{found.choice.value} is chosen by {_origin(found.choice)}; to choose another:"
    ways = [_lasting_way(found.choice), ("git blackbird execute --agent NAME", "for one call")]
    yield from render_table([(Cell(f"  {command}"), Cell(says, dim=True)) for command, says in ways], None)
    yield from map(_reviewer_line, found.reviewers)
    yield "a session continues with the agent that started it; `git blackbird agent NAME` shows one in full"


def _reviewer_line(one: Reviewer) -> str:
    """Format one reviewer of changes, and what it may do."""
    model = f" ({clean_line(one.model)})" if one.model else ""
    return f"{one.source} reviews are made by {one.agent}{model}, by {_origin(one.choice)}: {_where(one)}"


def _where(one: Reviewer) -> str:
    return "read-only in the worktree" if one.read_only else "in a throwaway checkout"


def _row(view: AgentView) -> tuple[Cell, ...]:
    return (
        Cell(f"{'*' if view.is_chosen else ' '} {view.name}", bold=view.is_chosen),
        Cell(_told(view.inspection.version)),
        _state_cell(view, _told(view.inspection.blocked_reason)),
        Cell(_told(view.inspection.login)),
    )


def _state_cell(view: AgentView, otherwise: str) -> Cell:
    return Cell("can start", "green") if view.can_start else Cell(otherwise, "red")


def _lasting_way(choice: Setting) -> tuple[str, str]:
    if choice.layer is Layer.ENVIRONMENT:
        return f"unset {choice.origin}", "it wins over every configuration"
    return "git config blackbird.agent NAME", "in this clone"


def _origin(setting: Setting) -> str:
    return clean_line(setting.origin, _LONGEST)


def _told(text: str | None) -> str:
    return clean_line(text or "", _LONGEST) or "-"


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
        yield from render_section("can", render_table(list(_abilities(view)), None))
    yield from render_section("configured", render_table(list(map(setting_row, view.settings)), None))
    yield from render_section("good to know", [_told(remark) for remark in view.inspection.remarks])


def _facts(view: AgentView, choice: Setting) -> Iterator[tuple[str, str]]:
    found = view.inspection
    yield "chosen", f"{'yes' if view.is_chosen else f'no: {choice.value} is'}, by {_origin(choice)}"
    yield "program", _told(found.program)
    yield "version", _told(found.version)
    yield "login", _told(found.login)
    yield "may", _told(found.powers)
    yield "as reviewer", _told(found.reviews)
    for one in view.reviews:
        model = f" with {clean_line(one.model)}" if one.model else ""
        yield f"{one.source} review", f"of each change{model}, by {_origin(one.choice)}: {_where(one)}"


def _abilities(view: AgentView) -> Iterator[tuple[Cell, Cell]]:
    can = view.abilities
    for says, has in (
        ("continue a session", can.resume),
        ("enforce a JSON schema", can.schema),
        ("run read-only", can.read_only),
        ("use a given session id", can.chooses_session),
        ("report what a run cost", can.reports_cost),
    ):
        yield Cell(says), Cell("yes", "green") if has else Cell("no", "yellow")
