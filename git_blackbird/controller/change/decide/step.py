"""Ask for a decision, and carry it out."""

from functools import partial

from git_blackbird import trace
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.commit.refusal import ApprovalRefusedError
from git_blackbird.controller.change.decide.checkpoint import (
    build_checkpoint,
    unnamed_start,
    why_not_resumable,
)
from git_blackbird.controller.change.status_changes import reset_task
from git_blackbird.controller.change.stops import open_items_stop
from git_blackbird.controller.change.trees import outside_of_runs
from git_blackbird.controller.change.work.starts import Restart
from git_blackbird.controller.core.guards import HalfWrittenError
from git_blackbird.controller.core.ui import Unanswered, inform, warn
from git_blackbird.controller.core.waiting import finish_in_thread, race_external_change, run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.work_elsewhere import find_work_elsewhere
from git_blackbird.errors import LockedError, error_notes
from git_blackbird.git.core.process import GitStoppedError
from git_blackbird.messages.display.events import overtaken_text
from git_blackbird.messages.display.format import undo_lines
from git_blackbird.model.base.next_steps import EXECUTE, restart_with_text
from git_blackbird.model.change.change import Change, contributions
from git_blackbird.model.change.decision import VIEWS, Decision, RerunReviews, Retry, choices_for
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.change.work import Work, decide_run_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item, pending_decisions
from git_blackbird.model.rules.scope import CallScope, Following, next_after_approval, next_item, review_stops
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Choice, DecisionState, RunStatus
from git_blackbird.model.views.events import Decided, Event, Level, Notice, Phase
from git_blackbird.model.views.stop import Stop, StopReason

_MAX_REFUSALS = 10


async def decide(call: Call, item: Item) -> Stop | Restart | None:
    """Show the checkpoint of a run, and record what is chosen, here or by another command meanwhile.

    Where an approval would by now start another task than was named, it is asked again.
    """
    workspace, task, run, state = call.workspace, item.task, item.of_run, item.state
    reply = named = None
    if call.scope.decisions_left is not None:
        call.scope = call.scope._replace(decisions_left=call.scope.decisions_left - 1)
    with trace.measured(Phase.DECISION, task.id):
        build = partial(build_checkpoint, workspace, state, task, run, _follows(call, state, run))
        if not call.ui.shows_checkpoints:
            call.prompter.call_for_decision(task, run.id)
        elif (checkpoint := await call.interruptible(run_in_thread(build))) is not None:
            named = checkpoint.follows
            ask = race_external_change(workspace, partial(call.prompter.decide, checkpoint), run)
            reply = checkpoint.with_shown(await call.interruptible(ask))
    match reply:
        case Decision(state=DecisionState.APPROVED_CONTINUE):
            follows = _follows(call, await run_in_thread(workspace.plan_state), run)
            if (why := unnamed_start(task.id, named, follows)) is not None:
                inform(call.ui, why, task.id)
                _ask_again(call)
                return None
            return await _record(call, state, run, reply, continues=named is not None)
        case Decision():
            return await _record(call, state, run, reply, continues=False)
        case Retry() | RerunReviews():
            return _do_again(call, task, reply)
        case Run():
            # Another command has changed the record.
            if (event := _changed_elsewhere(reply)) is not None:
                call.ui.notify(event)
            # To stop was said to the other command alone.
            _note_rejection(call, reply)
            return None
        case None if not call.is_interrupted:
            return _undecided_stop(call, state, run)
        case Unanswered() | None:
            return _left_open_stop(run)


def _follows(call: Call, state: PlanState, run: Run) -> Following | None:
    """Return the task with which the call continues once a change is approved."""
    if not call.ui.shows_checkpoints or stage_of(run) is Stage.NOT_COMMITTED:
        return None
    return next_after_approval(state, call.scope, run.task_id, call.may_begin)


def _ask_again(call: Call) -> None:
    """Give the call back a decision that it asked for and that was not taken."""
    if call.scope.decisions_left is not None:
        call.scope = call.scope._replace(decisions_left=call.scope.decisions_left + 1)


def _do_again(call: Call, task: Task, reply: Retry | RerunReviews) -> Restart | None:
    """Retry a task, or have its change reviewed again; where no agent is to be started, prepare that."""
    if isinstance(reply, Retry):
        if call.scope.starts_agents:
            return Restart(task, None)
        reset_task(call.workspace, task.id)
        inform(call.ui, f"{task.id} is todo again", task.id, EXECUTE)
        return None
    from git_blackbird.controller.change.review.review import reopen_reviews

    reopen_reviews(call.workspace, task)
    if call.scope.starts_agents:
        # Asked for by hand, it is done whatever the configuration says.
        call.scope = call.scope._replace(review=task.id, is_reviewed=True)
    else:
        inform(call.ui, f"the change of {task.id} is to be reviewed again", task.id, EXECUTE)
    return None


def _changed_elsewhere(run: Run) -> Event | None:
    """Return the event for a change of the run made elsewhere meanwhile; None without one."""
    if run.is_pending:
        # The approval would be of another change than the one shown.
        text = f"the commit of {run.task_id} was amended: its checkpoint is shown again"
        return Notice(Level.INFO, text, task_id=run.task_id)
    if run.is_superseded:
        return Notice(Level.INFO, overtaken_text(run), task_id=run.task_id)
    if run.decision_state is None:
        return None
    failed = run.status is RunStatus.FAILED
    return Decided(run.task_id, run.id, run.decision_state, elsewhere=True, is_of_failure=failed)


async def _record(
    call: Call, state: PlanState, run: Run, decision: Decision, *, continues: bool
) -> Stop | None:
    """Record a decision; if it is refused, show why and ask again. After others the call ``continues``."""
    from git_blackbird.controller.change.decide.record import UnresolvedError, record_decision

    workspace = call.workspace
    try:
        # In a thread: the commit of an approval takes as long as the user's hooks do.
        with trace.measured(Phase.DECISION, run.task_id):
            result = await finish_in_thread(
                lambda: record_decision(workspace, run.task_id, decision, run.id), call.force_stop
            )
    except GitStoppedError:
        return _left_open_stop(run)
    except (ApprovalRefusedError, UnresolvedError, HalfWrittenError, LockedError) as error:
        for note in error_notes(error):
            call.ui.notify(Notice(Level.INFO, note, task_id=run.task_id))
        call.ui.notify(Notice(Level.ERROR, error.lines, error.ways_out, run.task_id))
        call.refused_decisions += 1
        # Endless input of the same answer comes from no person.
        if call.refused_decisions >= _MAX_REFUSALS:
            return _undecided_stop(call, state, run)
        _ask_again(call)
        return None
    if continues:
        call.scope = call.scope.continued()
    if result.decided is not None:
        call.ui.notify(result.decided)
    for text in result.remarks:
        inform(call.ui, text, run.task_id)
    for text in result.warnings:
        warn(call.ui, text, run.task_id)
    for text in undo_lines(result.undo):
        inform(call.ui, text, run.task_id)
    if decision.undoes:
        from git_blackbird.controller.change.undo.undo import begin_undo

        # The next turn takes it back, which then nobody else is writing into the worktree.
        await finish_in_thread(lambda: begin_undo(workspace, run.task_id), call.force_stop)
    return _stop_after(call, result.state, result.run)


def _note_rejection(call: Call, run: Run) -> None:
    """Have the call end with a rejection; others go on."""
    if run.decision_state is DecisionState.REJECTED and not run.is_superseded:
        call.rejected.add(run.task_id)


def _stop_after(call: Call, state: PlanState, run: Run) -> Stop | None:
    _note_rejection(call, run)
    if run.decision_state is DecisionState.APPROVED_QUIT:
        if not call.scope.starts_agents:
            # It lands first, and nothing else is asked.
            call.scope = call.scope._replace(decisions_left=0)
            return None
        goes_on = next_item(state, CallScope()) or review_stops(state, CallScope())
        steps = (EXECUTE,) if goes_on else ()
        return Stop(StopReason.COMPLETED, f"{run.task_id} is approved", steps, run.task_id)
    return None


def _undecided_stop(call: Call, state: PlanState, run: Run) -> Stop:
    due = [one.of_run for one in pending_decisions(state) if call.scope.covers(one.task.id)]
    runs = (run, *(one for one in due if one.id != run.id))
    return open_items_stop([_stop_on(call.workspace, state, one) for one in runs])


def _stop_on(workspace: Workspace, state: PlanState, run: Run) -> Stop:
    history = state.history(run.task_id)
    change = Change.of(history)
    choices = choices_for(
        run,
        was_requested=bool(change.requests),
        is_in_worktree=Work(history).is_in_worktree,
        was_merged=change.last_merge is not None,
        max_rounds=workspace.config.reviews.max_iterations,
    )
    runs = workspace.runs_to_decide(history)
    has_files = any(not done.trees.is_empty for done in contributions(runs))
    unseen = frozenset() if has_files else VIEWS
    # The first command of a list must not accept a failure.
    ordered = sorted(choices, key=lambda spec: spec.choice is not Choice.RETRY)
    is_lost = why_not_resumable(workspace, history, run) is not None
    steps: tuple[str, ...] = tuple(
        restart_with_text(run.task_id)
        if is_lost and spec.choice is Choice.REQUEST_CHANGES
        else spec.command_for(run.task_id)
        for spec in ordered
        if spec.choice not in unseen
    )
    elsewhere = find_work_elsewhere(workspace, state.plan.tasks[run.task_id], run, outside_of_runs(runs))
    steps = steps if elsewhere is None else (elsewhere.command, *steps)
    why = f": {run.no_change_reason}" if run.no_change_reason else ""
    text = f"a decision is due on {run.task_id}{why}"
    return Stop(StopReason.DECISION_REQUIRED, text, steps, run.task_id, is_choice=True)


def _left_open_stop(run: Run) -> Stop:
    text = f"the decision on {run.task_id} is left open"
    return Stop(StopReason.INTERRUPTED, text, (decide_run_command(run),), run.task_id)
