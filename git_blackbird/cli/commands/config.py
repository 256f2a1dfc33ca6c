"""``config`` reads, writes and removes keys; ``agent`` shows the agents, and which is chosen and why."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from git_blackbird.cli.output import CommandContext, print_error
from git_blackbird.controller.config.settings import ConfigChange, Scope, require_key, unset_key, write_key
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import AgentUnavailableError, ExitCode, UsageError
from git_blackbird.messages.display.config import (
    key_document,
    overruled_text,
    saved_text,
    setting_row,
)
from git_blackbird.messages.document import Line, Section, Span, Style, Table, facts, line, section, table
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.config.settings import Setting

if TYPE_CHECKING:
    from git_blackbird.controller.queries.agents import AgentList, AgentView, Reviewer


def config(
    call: CommandContext, /, *, name: str | None, value: str | None, unset: bool, **places: bool
) -> ExitCode:
    writes = unset or value is not None
    scope = _one_place(places)
    _check_usage(name, value, unset=unset, scope=scope, writes=writes)
    workspace = call.workspace
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
        raise UsageError("--unset needs a KEY", hint="git blackbird config    # lists all keys")
    if unset and value is not None:
        raise UsageError("--unset takes no VALUE")
    if scope is not None and not writes:
        raise UsageError(f"--{scope} says where to write; it needs a KEY and a VALUE, or --unset KEY")


def _say_settings(call: CommandContext, workspace: Workspace, name: str | None) -> None:
    settings = workspace.settings
    everything = (setting.key for setting in settings.applied.values())
    layers = list(map(settings.layers_of, everything if name is None else [require_key(name)]))
    call.show([table([setting_row(layer.applied) for layer in layers], None)])
    if name is not None:
        sets = line("  a value after the key sets it: in this clone, or with --project or --global")
        call.show([*key_document(layers[0]), sets])
    if call.as_json:
        from git_blackbird.cli.printed.setup import ConfigOutput

        call.data(ConfigOutput(layers))


def _say_written(call: CommandContext, written: ConfigChange) -> None:
    call.print(saved_text(written.key, written.value, written.place))
    stronger = written.overruled_by
    if stronger is not None:
        call.warn(overruled_text(stronger))
    if written.remark is not None:
        call.warn(written.remark)
    if call.as_json:
        from git_blackbird.cli.printed.setup import ConfigChangeOutput

        call.data(ConfigChangeOutput(written))


_HEADINGS = ("  Agent", "Version", "State", "Login")


def agent(call: CommandContext, /, *, name: str | None) -> ExitCode:
    from git_blackbird.controller.queries.agents import view_agent, view_agents  # keys need no agents

    workspace = call.workspace
    if name is None:
        agents = view_agents(workspace)
        call.show(_list_of(agents))
        if call.as_json:
            from git_blackbird.cli.printed.setup import AgentsOutput

            call.data(AgentsOutput(agents))
        code = ExitCode.OK
    else:
        code = _show_one(call, view_agent(workspace, name), workspace.settings.applied["agent"])
    call.warn_problems(workspace)
    return code


def _list_of(agents: "AgentList") -> Iterator[Line | Table]:
    headings = tuple(Span(text, Style.HEADING) for text in _HEADINGS)
    yield table([headings, *map(_row, agents.agents)], None)
    yield line()
    choice = agents.choice
    yield line(f"{choice.value} is chosen by {choice.origin}; to choose another:")
    others = [view.name for view in agents.agents if view.can_start and not view.is_chosen]
    # The two that run what they are told are no model.
    other = next(iter(sorted(others, key=lambda name: name in {"command", "demo"})), "demo")
    command, remark = f"git blackbird config agent {other}", "in this clone"
    if choice.layer is Layer.ENVIRONMENT:
        command, remark = f"unset {choice.origin}", "it wins over every configuration"
    commands = {command: remark, f"git blackbird execute --agent {other}": "for one call"}
    yield table(((f"  {name}", Span(f"# {text}", Style.FAINT)) for name, text in commands.items()), None)
    for reviewer in agents.reviewers:
        made_by = f"{reviewer.source} reviews are made by {reviewer.agent}{_model(reviewer, '({})')}"
        yield line(f"{made_by}, by {reviewer.choice.origin}: {_where(reviewer)}")
    yield line("a session continues with the agent that started it, until `restart --agent` begins another")
    yield line(f"`git blackbird agent {choice.value}` shows one in full")


def _model(reviewer: "Reviewer", form: str) -> str:
    return f" {form.format(reviewer.model)}" if reviewer.model else ""


def _where(reviewer: "Reviewer") -> str:
    return "read-only in the worktree" if reviewer.read_only else "in a throwaway checkout"


def _row(view: "AgentView") -> tuple[Span | str, ...]:
    return (
        Span(
            f"{'*' if view.is_chosen else ' '} {view.name}", Style.HEADING if view.is_chosen else Style.PLAIN
        ),
        view.inspection.version or "-",
        _state_cell(view, view.inspection.blocked_reason or "-"),
        view.inspection.login or "-",
    )


def _state_cell(view: "AgentView", otherwise: str) -> Span:
    return Span("can start", Style.DONE) if view.can_start else Span(otherwise, Style.FAILED)


def _show_one(call: CommandContext, view: "AgentView", choice: Setting) -> ExitCode:
    call.show(_document(view, choice))
    if call.as_json:
        from git_blackbird.cli.printed.setup import AgentOutput

        call.data(AgentOutput(view))
    if view.can_start:
        return ExitCode.OK
    # The object for programs has it already: one line is all that standard output gets.
    error = AgentUnavailableError(view.inspection.blocked_reason or "", hint=view.inspection.hint)
    print_error(error, as_json=False)
    return error.exit_code


def _document(view: "AgentView", choice: Setting) -> Iterator[Section | Line | Table]:
    state = _state_cell(view, "cannot start")
    yield line(Span(view.name, Style.HEADING), "  ", state)
    yield facts(_facts(view, choice), "  ")
    if view.can_start:
        yield section("can", [table(_abilities(view), None)])
    yield section("configured", [table(map(setting_row, view.settings), None)])
    yield section("good to know", view.inspection.remarks)


def _facts(view: "AgentView", choice: Setting) -> Iterator[tuple[str, str]]:
    inspection = view.inspection
    yield "chosen", f"{'yes' if view.is_chosen else f'no: {choice.value} is'}, by {choice.origin}"
    yield "program", inspection.program or "-"
    yield "version", inspection.version or "-"
    yield "login", inspection.login or "-"
    yield "may", inspection.powers or "-"
    yield "as reviewer", inspection.reviews or "-"
    for reviewer in view.reviews:
        made_by = f"of each change{_model(reviewer, 'with {}')}, by {reviewer.choice.origin}"
        yield f"{reviewer.source} review", f"{made_by}: {_where(reviewer)}"


def _abilities(view: "AgentView") -> Iterator[tuple[str, Span]]:
    can = view.abilities
    for name, has in (
        ("continue a session", can.resume),
        ("enforce a JSON schema", can.schema),
        ("run read-only", can.read_only),
        ("use a given session id", can.chooses_session),
        ("report what a run cost", can.reports_cost),
    ):
        yield name, Span("yes", Style.DONE) if has else Span("no", Style.WARNING)
