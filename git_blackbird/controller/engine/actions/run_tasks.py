"""Start a task, restart it, or continue its session."""

from dataclasses import replace

from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.decisions.checkpoint import change_of
from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.recovery import is_work_deferred
from git_blackbird.controller.engine.stops import interrupted_stop, undeliverable_stop
from git_blackbird.controller.plan.status_changes import reset_task
from git_blackbird.controller.reviews.change import ask_instead
from git_blackbird.controller.runs.instructions import Restart, order_changes, order_continue, order_start
from git_blackbird.controller.runs.task_run import StaleTaskError
from git_blackbird.model.entities.history import runs_in_change
from git_blackbird.model.entities.run import SUPERSEDED_BY_RESTART
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.next_action import ApplyChangeRequest, ContinueRun, SendFeedback, StartTask
from git_blackbird.model.rules.reviews import BY_REVIEWERS
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.views.stop import Stop


async def start_task(engine: Engine, action: StartTask, state: PlanState) -> Stop | None:
    """Start a task; one that changed since the turn began is named and left to the next turn."""
    workspace, task = engine.workspace, action.task
    if workspace.reviews_changes:
        # Fail before the work is done where its reviewers are missing.
        engine.contexts.of_reviewers()
    if is_work_deferred(workspace, engine.ui, task.id):
        return None
    if (left := engine.scope.starts_left) is not None:
        engine.scope = replace(engine.scope, starts_left=left - 1)
    try:
        return await engine.run_task(order_start(workspace, state, task, None))
    except StaleTaskError as error:
        warn(engine.ui, error.message, task.id)
        return None


async def restart_task(engine: Engine, restart: Restart, state: PlanState) -> Stop | None:
    """Supersede the runs of a task, once an agent can start, and start it."""
    workspace, task = engine.workspace, restart.task
    await engine.require_consent(engine.contexts.of_new_run())
    if engine.is_interrupted:
        return interrupted_stop(f"before {task.id} was started")
    if task.status is not Status.TODO:
        reset_task(workspace, task.id, SUPERSEDED_BY_RESTART)
        state = workspace.plan_state()
    return await engine.run_task(order_start(workspace, state, task, restart.message))


async def continue_run(engine: Engine, action: ContinueRun, state: PlanState) -> Stop | None:
    """Resume the session; stop with the command that restarts the task where that is impossible."""
    stop = undeliverable_stop(engine.workspace, state, action)
    if stop is not None:
        return stop
    pending = state.pending_messages(action.task.id)
    return await engine.resume(action, order_continue(action.run, action.task, pending, None))


async def apply_change_request(engine: Engine, action: ApplyChangeRequest, state: PlanState) -> Stop | None:
    """Resume the session with the request.

    Where that is impossible, a request of the reviewers becomes a decision of a person; one of a person
    stops the call.
    """
    workspace, task, run = engine.workspace, action.task, action.run
    stop = undeliverable_stop(workspace, state, action)
    if stop is None:
        _, summary = change_of(workspace, state, run, runs_in_change(state.history(task.id)))
        pending = state.pending_messages(task.id)
        return await engine.resume(action, order_changes(run, task, pending, None, summary))
    if run.requested_by != BY_REVIEWERS:
        return stop
    ask_instead(workspace, run)
    return None


async def send_feedback(engine: Engine, action: SendFeedback, state: PlanState) -> Stop | None:
    """Resume the session with the feedback, once in a call."""
    task = action.task
    engine.scope = replace(engine.scope, carries=engine.scope.carries - {task.id})
    return await engine.run_task(order_continue(action.run, task, state.pending_messages(task.id), None))
