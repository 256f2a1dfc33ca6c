"""Decide on the changes of tasks: asked for one after the other, or by options for many at once."""

import asyncio
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from git_blackbird.cli.commands.adopt import ask_to_adopt
from git_blackbird.cli.commands.run import MessageOptions, build_ui, run_loop
from git_blackbird.cli.commands.undo import show_undo
from git_blackbird.cli.output import CommandContext
from git_blackbird.cli.render.stops import show_stop
from git_blackbird.cli.ui.base import SilentUI
from git_blackbird.controller.change.decide.checkpoint import find_pending, pending_checkpoint
from git_blackbird.controller.change.decide.record import DecisionResult, record_decision
from git_blackbird.controller.change.decide.requests import edit_request, overruling_request
from git_blackbird.controller.change.undo.undo import begin_undo, has_anything_to_undo, undo_task
from git_blackbird.controller.core.ui import UserInterface
from git_blackbird.controller.core.workspace import Workspace, find_task, lock_holder
from git_blackbird.controller.engine.commands import decide_beside, decide_loop, require_messageable
from git_blackbird.errors import ExitCode, LockedError, RequestError, UsageError
from git_blackbird.messages.display.dialogue import no_diff_text
from git_blackbird.messages.display.events import render_decided
from git_blackbird.messages.display.format import moved_lines, undo_lines
from git_blackbird.messages.forms.review_form import ReviewForm
from git_blackbird.messages.incoming.questions import parse_texts
from git_blackbird.messages.patch.comments import request_with
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.change.decision import Decision
from git_blackbird.model.change.stages import TABLE, Due, Stage, due_of, label_of, stage_of
from git_blackbird.model.rules.queue import Item, Seen, acting_text
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.model.run.states import Choice, DecisionState
from git_blackbird.model.run.summary import ChangePart
from git_blackbird.model.views.stop import Stop, StopReason

_WAIT_SECONDS = 0.1
# It asks nobody, and ends once that is done.
_LANDING = "decide --approve"
_ONE_OF = "one of --approve, --request-changes, --reject"
_DECISIONS = {
    "approve": DecisionState.APPROVED_CONTINUE,
    "request_changes": DecisionState.CHANGES_REQUESTED,
    "reject": DecisionState.REJECTED,
}
_OPTION = {state: name.replace("_", "-") for name, state in _DECISIONS.items()}


def decide(
    call: CommandContext,
    /,
    task_ids: tuple[str, ...],
    *,
    only_next: bool,
    any_branch: bool,
    undo: bool,
    no_commit: bool,
    only: tuple[str, ...],
    by_hunk: bool,
    overruled: tuple[str, ...],
    run_id: str | None,
    message: str | None,
    message_file: str | None,
    in_editor: bool,
    **decisions: bool,
) -> ExitCode:
    options = MessageOptions.checked(call, message, message_file, in_editor=in_editor)
    goes_with = (
        (any_branch, "--any-branch", DecisionState.APPROVED_CONTINUE),
        (bool(only), "--files", DecisionState.APPROVED_CONTINUE),
        (by_hunk, "--patch", DecisionState.APPROVED_CONTINUE),
        (no_commit, "--no-commit", DecisionState.APPROVED_CONTINUE),
        (undo, "--undo", DecisionState.REJECTED),
        (in_editor, "-e", DecisionState.CHANGES_REQUESTED),
    )
    given = {option: state for is_given, option, state in goes_with if is_given}
    decisions["request_changes"] |= bool(overruled)
    decisions["approve"] |= by_hunk
    state = _chosen([_DECISIONS[name] for name, is_chosen in decisions.items() if is_chosen])
    if state is None:
        is_given = bool(given) or options.is_given or run_id is not None
        return _ask(call, task_ids, only_next=only_next, is_given=is_given)
    _require_together(state, given, has_text=options.is_given)
    goes_with_one = run_id is not None or bool(only or overruled) or by_hunk or undo or call.as_json
    _require_tasks(() if only_next else task_ids, goes_with_one=goes_with_one)
    if by_hunk and only:
        raise UsageError("--patch cannot be combined with --files")
    if by_hunk and not call.can_confirm(sys.stdout):
        raise UsageError("--patch asks at a terminal", hint="--files approves files by their names")
    if overruled and in_editor:
        raise UsageError("--overrule cannot be combined with -e")
    workspace, words = call.workspace, options.words
    workspace.require_settings()
    if overruled:
        words = overruling_request(workspace, task_ids[0], parse_texts("--overrule", overruled), words)
    chosen = Decision(
        state,
        words,
        branch_confirmed=any_branch,
        only=tuple(ChangePart(_below_top(workspace, path)) for path in only),
        undoes=undo,
        without_commit=no_commit,
    )
    run = None if run_id is None else RunId(run_id)
    writes = in_editor or (not call.no_input and sys.stdin.isatty())
    is_open = writes and state is DecisionState.CHANGES_REQUESTED and words is None
    return _record(call, task_ids, chosen, run, in_editor=is_open, by_hunk=by_hunk)


def _require_tasks(task_ids: Sequence[str], *, goes_with_one: bool) -> None:
    if not task_ids:
        raise UsageError(
            "name the tasks to decide on", hint="git blackbird decide    # asks for each that waits"
        )
    if len(task_ids) > 1 and goes_with_one:
        raise UsageError("--run, --files, --patch, --overrule, --undo and --json go with one task")


def _chosen(states: Sequence[DecisionState]) -> DecisionState | None:
    if len(states) > 1:
        raise UsageError("more than one decision given", hint=_ONE_OF)
    return states[0] if states else None


def _require_together(state: DecisionState, given: Mapping[str, DecisionState], *, has_text: bool) -> None:
    """Refuse options that go with another decision."""
    for option, its_state in given.items():
        if state is not its_state:
            raise UsageError(f"{option} goes with --{_OPTION[its_state]}")
    if has_text and state is DecisionState.APPROVED_CONTINUE:
        raise UsageError("-m goes with --request-changes and --reject")


def _ask(call: CommandContext, task_ids: tuple[str, ...], *, only_next: bool, is_given: bool) -> ExitCode:
    """Ask for the decisions that wait, oldest first, and land what is approved; start no agent."""
    if is_given or call.no_input or call.as_json or not sys.stdin.isatty():
        raise UsageError("no decision given", hint=_ONE_OF)
    workspace = call.workspace
    workspace.require_settings()
    with build_ui(call, workspace, stream=False) as ui:
        loop = decide_loop(workspace, ui, task_ids, only_next=only_next)
        try:
            stop = run_loop(workspace, call.command, loop)
        except LockedError as error:
            # Whether that lands what is approved is said then.
            call.print(error.message)
            stop = asyncio.run(decide_beside(workspace, ui, task_ids, only_next=only_next))
            due = [task.id for task, _ in workspace.plan_state().due[Due.LAND]]
            _land(call, [task_id for task_id in due if not task_ids or task_id in task_ids])
    return show_stop(call, stop, ui.shown_reviews)


def _record(
    call: CommandContext,
    task_ids: tuple[str, ...],
    chosen: Decision,
    run_id: RunId | None,
    *,
    in_editor: bool,
    by_hunk: bool,
) -> ExitCode:
    """Record one decision on each task, and land what was approved; the exit code says where that failed."""
    workspace, results, stop = call.workspace, list[DecisionResult](), None
    plan = workspace.store.plan()
    ask_to_adopt(call, workspace)
    # Nothing is decided where one of the names is none.
    named = tuple(find_task(plan, task_id).id for task_id in dict.fromkeys(task_ids))
    try:
        for task_id in named:
            decision = _written(call, task_id, run_id, chosen) if in_editor else chosen
            if by_hunk:
                asked = _chosen_by_hunk(call, task_id, run_id, chosen)
                if asked is None:
                    call.print(f"Nothing is approved: the decision on {task_id} is open.")
                    return ExitCode.DECISION_REQUIRED
                decision, run_id = asked
            results.append(record_decision(workspace, task_id, decision, run_id))
            if chosen.undoes:
                return _undo(call, results[-1])
            _show(call, results[-1])
    finally:
        # Also where a later one is refused.
        stop = _land(call, [one.run.task_id for one in results if due_of(one.run) is Due.LAND])
    _show_data(call, results[-1], stop)
    return ExitCode.OK if stop is None else stop.exit_code


def _show(call: CommandContext, recorded: DecisionResult) -> None:
    """Say what was decided, what moved since, and how a rejected change is taken back."""
    if recorded.decided is not None:
        text = render_decided(recorded.decided)
        if recorded.decided.state is DecisionState.CHANGES_REQUESTED:
            text += f"; {_acting(call, recorded, Due.REQUEST, 'carries them out')}"
        call.print(text)
    for text in recorded.remarks:
        call.print(f"  {text}")
    for text in recorded.warnings:
        call.warn(text)
    call.show(one.behind("  ") for one in moved_lines(recorded.moved))
    call.lines(undo_lines(recorded.undo))


def _show_data(call: CommandContext, result: DecisionResult, stop: Stop | None = None) -> None:
    if not call.as_json:
        return
    from git_blackbird.cli.printed.changes import DecideOutput

    # As it is once it has landed.
    run = call.workspace.store.records.history(result.run.task_id).find(result.run.id) or result.run
    call.data(DecideOutput(result, stage_of(run), stop))


def _undo(call: CommandContext, result: DecisionResult) -> ExitCode:
    task_id = result.run.task_id
    call.print(f"Rejected {task_id}.")
    if not has_anything_to_undo(result.state, result.run):
        call.print("nothing of it is in your worktree")
        _show_data(call, result)
        return ExitCode.OK
    with suppress(LockedError):
        return show_undo(call, undo_task(call.workspace, task_id))
    begin_undo(call.workspace, task_id)
    # What was at work may have ended before this had begun.
    with suppress(LockedError):
        return show_undo(call, undo_task(call.workspace, task_id))
    call.print(_acting(call, result, Due.FINISH, "takes its change back"))
    _show_data(call, result)
    return ExitCode.OK


def _acting(call: CommandContext, decided: DecisionResult, due: Due, does: str) -> str:
    """Return who does what is due after a decision."""
    from git_blackbird.controller.queries.status import call_at_work  # an approval says when it lands

    state, run = decided.state, decided.run
    seen = Seen(call=call_at_work(call.workspace))
    return acting_text(Item(due, state.plan.tasks[run.task_id], run, state=state, seen=seen), does)


def _written(call: CommandContext, task_id: str, run_id: RunId | None, chosen: Decision) -> Decision:
    """Return a change request with the text, and the comments, that a person writes in the editor."""
    edited = _edited(call, task_id, run_id)
    comments: tuple[ReviewComment, ...] = edited.comments
    return chosen._replace(feedback=request_with(edited.text, comments, ()), comments=comments)


def _chosen_by_hunk(
    call: CommandContext, task_id: str, run_id: RunId | None, chosen: Decision
) -> tuple[Decision, RunId] | None:
    """Return an approval of the hunks that a person chooses, and of which run; None where they want none."""
    from git_blackbird.cli.ui.patch_questions import choose_parts  # no other decision shows a diff

    checkpoint = pending_checkpoint(call.workspace, task_id, run_id)
    if checkpoint.pair is None:
        raise RequestError(no_diff_text(checkpoint.blocked_reason(Choice.VIEW_DIFF) or ""))
    parts = choose_parts(call, checkpoint.pair)
    if parts == ():
        return None
    return chosen._replace(shown=checkpoint.pair, only=parts or ()), checkpoint.run.id


def _land(call: CommandContext, task_ids: Sequence[TaskId]) -> Stop | None:
    """Land approved changes if no other call is at work, which would do it; no agent is started.

    Return why some have not landed; None where all have, or another call lands them.
    """
    if not task_ids:
        return None
    workspace = call.workspace
    silent = CommandContext(call.command, call.environment, as_json=False, no_input=True)
    with build_ui(silent, workspace, stream=False) as ui:
        shown: UserInterface = SilentUI() if call.as_json else ui
        try:
            stop = _run_landing(workspace, task_ids, shown)
        except LockedError as error:
            call.print(error.message)
            return None
    is_elsewhere = stop is None
    if stop is None or stop.reason is StopReason.COMPLETED:
        stop = _left_unlanded(workspace, task_ids)
    if is_elsewhere and stop is None:
        call.print(f"landed {', '.join(task_ids)}")
    if stop is not None and not call.as_json:
        show_stop(call, stop, ui.shown_reviews)
    return stop


def _left_unlanded(workspace: Workspace, task_ids: Sequence[TaskId]) -> Stop | None:
    """Return the stop where approved changes went back to their agents, or wait for others to land first."""
    state = workspace.plan_state()
    latest = (state.history(task_id).latest for task_id in task_ids)
    left = [run for run in latest if run is not None and stage_of(run) is not Stage.DONE]
    if not left:
        return None
    text = "; ".join(f"{run.task_id} has not landed: {label_of(run)}" for run in left)
    steps = (
        EXECUTE if due_of(run) is Due.LAND else TaskCommand(TABLE[stage_of(run)].verb, run.task_id)
        for run in left
    )
    return Stop(StopReason.FAILED, text, tuple(dict.fromkeys(steps)), left[0].task_id)


def _run_landing(workspace: Workspace, task_ids: Sequence[TaskId], ui: UserInterface) -> Stop | None:
    """Land these tasks; None where another command has done it.

    Raises LockedError, saying when they land, where one is at work that does not do it at once.
    """
    while _are_landing(workspace.plan_state(), task_ids):
        try:
            return run_loop(workspace, _LANDING, decide_loop(workspace, ui, task_ids, only_next=False))
        except LockedError as error:
            if (when := _lands_when(workspace, task_ids)) is not None:
                raise LockedError(f"{error.message}; {when}") from None
            time.sleep(_WAIT_SECONDS)  # nothing tells when a lock is free
    return None


def _are_landing(state: PlanState, task_ids: Sequence[TaskId]) -> bool:
    latest = (state.history(task_id).latest for task_id in task_ids)
    return any(run is not None and stage_of(run) is Stage.LANDING for run in latest)


def _lands_when(workspace: Workspace, task_ids: Sequence[TaskId]) -> str | None:
    """Return when changes land while another command is at work; None where that does it, or ends, soon."""
    from git_blackbird.controller.queries.status import running_call  # few decisions wait for anyone

    holder = lock_holder(workspace)
    running = running_call(holder)
    if holder is None or running is None or holder.command == _LANDING:
        return None
    if running.only is not None and not running.only.issuperset(task_ids):
        return "what you approved lands with the next `git blackbird execute` after it"
    return "it lands what you approved" if running.agents else None


def _edited(call: CommandContext, task_id: str, run: RunId | None) -> ReviewForm:
    """Have a change request written in the editor, and say what was understood."""
    workspace = call.workspace
    state = workspace.plan_state()
    require_messageable(workspace, find_pending(state, find_task(state.plan, task_id).id, run).task_id)
    edited = edit_request(workspace, task_id, run)
    call.print(f"Understood: {edited.words}.")
    return edited


def _below_top(workspace: Workspace, path: str) -> str:
    return os.path.relpath(workspace.environment.cwd / path, workspace.repo.top)
