"""Commands in which an agent plans."""

import sys
from functools import partial

from git_blackbird.cli.commands.run import (
    build_ui,
    loop_runner,
    open_with_flags,
    read_message,
    wants_output,
)
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.stops import show_stop
from git_blackbird.cli.ui.page_questions import AskAboutPage
from git_blackbird.controller.core.drafts import Drafts, write_message
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.editor import edit_page_in_editor
from git_blackbird.controller.plan.outcomes import page_lines
from git_blackbird.controller.planning.diff import proposal_lines
from git_blackbird.controller.planning.session import Planned, PlanSession
from git_blackbird.errors import ExitCode, UsageError
from git_blackbird.messages.outgoing.planning import PlanKind, PlanRequest
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.base.next_steps import REQUEST, TaskCommand


def infer(
    call: CommandContext, task_ids: tuple[str, ...], *, yes: bool, agent: str | None, stream: bool
) -> ExitCode:
    workspace = open_with_flags(call, {"agent": agent})
    request = PlanRequest(PlanKind.INFER, only=tuple(map(TaskId, task_ids)))
    return _plan(call, workspace, request, yes=yes, stream=stream)


def _plan_in_words(
    call: CommandContext,
    *,
    kind: PlanKind,
    message: str | None,
    message_file: str | None,
    yes: bool,
    agent: str | None,
    stream: bool,
) -> ExitCode:
    words = read_message(message, message_file)
    if words is None and (call.no_input or call.as_json or not sys.stdin.isatty()):
        from_input = REQUEST._replace(asks=" -F -")
        hint = TaskCommand(kind, remark="reads it from standard input", blank=from_input)
        raise UsageError("say what is wanted", hint=hint)
    workspace = open_with_flags(call, {"agent": agent})
    request = PlanRequest(kind, write_message(workspace, PLANNING) if words is None else words)
    code = _plan(call, workspace, request, yes=yes, stream=stream)
    if code is ExitCode.OK:
        # What was written in the editor has been used.
        Drafts(workspace).message(PLANNING).drop()
    return code


generate = partial(_plan_in_words, kind=PlanKind.GENERATE)
refine = partial(_plan_in_words, kind=PlanKind.REFINE)


def _plan(
    call: CommandContext, workspace: Workspace, request: PlanRequest, *, yes: bool, stream: bool
) -> ExitCode:
    with build_ui(call, workspace, stream=wants_output(call, stream=stream)) as ui:
        session = PlanSession(workspace, ui, request, accepts=yes)
        with loop_runner(workspace, call.command, session) as runner:
            planned = runner.run(session.run())
    if planned.is_to_edit and planned.draft is not None and planned.proposal is not None:
        result = edit_page_in_editor(workspace, planned.proposal.base, planned.draft, AskAboutPage(call))
        call.show(page_lines(result))
        return ExitCode.OK
    _show(call, planned, is_unseen=yes)
    return show_stop(call, planned.stop)


def _show(call: CommandContext, planned: Planned, *, is_unseen: bool) -> None:
    proposal = planned.proposal
    if proposal is not None and planned.is_saved and is_unseen:
        call.show(proposal_lines(proposal))
    if proposal is not None and call.as_json:
        from git_blackbird.cli.printed.planning import PlannedEvent

        call.event("planned", PlannedEvent.of(proposal, planned.draft, is_saved=planned.is_saved))
