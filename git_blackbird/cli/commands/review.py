"""``review``: show, run or dismiss reviews."""

import sys
from collections.abc import Iterator

from git_blackbird.cli.output import CommandContext, ask
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.queries.reviews import view_change_review, view_review
from git_blackbird.errors import ExitCode, RequestError, UsageError
from git_blackbird.messages.display.reviews import (
    change_document,
    change_steps,
    dismissal_lines,
    merged_lines,
    parent_document,
    parent_steps,
)
from git_blackbird.messages.display.runs import OF_TASK, runs_table
from git_blackbird.messages.document import Line, Section, Span, Style, Table, block, line, section
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.reviews import ChangeReviewView, ReviewView


def review(
    call: CommandContext,
    action: str,
    task: str,
    *,
    agent: str | None,
    stream: bool,
    form: str | None,
    reason: str | None,
) -> ExitCode:
    if action != "run" and (agent is not None or stream):
        raise UsageError("--agent and --stream go with `review run`")
    if action != "dismiss" and reason is not None:
        raise UsageError("--reason goes with `review dismiss`")
    if form is not None and (action != "show" or call.as_json):
        raise UsageError("--format goes with `review show`, without --json")
    if action == "show":
        return _show(call, task, wants_xml=form == "xml")
    if action == "run":
        return _run(call, task, agent, stream=stream)
    return _dismiss(call, task, reason)


def _show(call: CommandContext, name: str, *, wants_xml: bool) -> ExitCode:
    workspace = call.workspace
    task = find_task(workspace.plan_state_of(name).plan, name)
    if task.is_leaf:
        _show_change(call, workspace, task, wants_xml=wants_xml)
    elif wants_xml:
        raise UsageError("the review of a parent has no XML", hint=f"git blackbird review show {task.id}")
    else:
        view = view_review(workspace, name)
        call.show(_parent_document(view))
        if call.as_json:
            from git_blackbird.cli.printed.runs import ParentReviewOutput

            call.data(ParentReviewOutput(view))
    call.warn_problems(workspace)
    return ExitCode.OK


def _show_change(call: CommandContext, workspace: Workspace, task: Task, *, wants_xml: bool) -> None:
    view = view_change_review(workspace, task)
    if wants_xml:
        from git_blackbird.messages.display.merged_review import render_merged_xml  # only XML pays

        if view.merged is None:
            raise RequestError(
                f"no change of {task.id} was reviewed", hint=TaskCommand("review run", task.id)
            )
        call.show(block(render_merged_xml(view.merged)))
        return
    call.show(_change_document(view, call.environment.timestamp()))
    if call.as_json:
        from git_blackbird.cli.printed.runs import ChangeReviewOutput

        call.data(ChangeReviewOutput(view))
    call.warn_records(view.faults)


def _run(call: CommandContext, task: str, agent: str | None, *, stream: bool) -> ExitCode:
    # Showing a review needs nothing of what makes one.
    from git_blackbird.cli.commands.run import open_with_flags, run_loop_command
    from git_blackbird.controller.engine.review_commands import review_loop

    keys = ("agent", "reviews.spec.agent", "reviews.code.agent")
    workspace = open_with_flags(call, dict.fromkeys(keys, agent))
    return run_loop_command(call, workspace, lambda ui: review_loop(workspace, ui, task), stream=stream)


def _dismiss(call: CommandContext, task: str, reason: str | None) -> ExitCode:
    from git_blackbird.controller.engine.review_commands import dismiss_review

    if reason is None:
        if not call.can_confirm(sys.stdout):
            raise UsageError("say why, with --reason: the reason is kept with the review")
        reason = ask(f"Why is {task} done without a passing review? ")
    workspace = call.workspace
    workspace.require_settings()
    result = dismiss_review(workspace, task, reason)
    call.show(dismissal_lines(result.parent, result.dropped))
    if call.as_json:
        from git_blackbird.cli.printed.given import DismissOutput

        parent, run = result.parent, result.run
        call.data(DismissOutput(parent.id, parent.status, run.id, reason.strip(), result.dropped))
    return ExitCode.OK


def _parent_document(view: ReviewView) -> Iterator[Section | Line | Table]:
    parent = view.parent
    yield line(Span(parent.id, Style.HEADING), f"  {parent.title}")
    yield from parent_document(view)
    listed = {feedback.command for feedback in view.outstanding}
    yield section("next", (step for step in parent_steps(view) if step not in listed))


def _change_document(view: ChangeReviewView, now: str) -> Iterator[Section | Line | Table]:
    yield line(Span(view.task.id, Style.HEADING), f"  {view.task.title}")
    yield from change_document(view)
    if view.run is not None and view.merged is not None:
        yield line()
        yield from merged_lines(view.run)
    yield section("reviewers", [runs_table(view.about, now, OF_TASK)])
    yield section("next", change_steps(view))
