"""Start a task, restart it, or continue its session, also with what a person answers."""

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.status_changes import reset_task
from git_blackbird.controller.change.stops import interrupted_stop, lost_session_stop
from git_blackbird.controller.change.trees import change_of
from git_blackbird.controller.change.work.manual_commits import (
    deferred_commit_of,
    record_deferred,
    require_recorded,
)
from git_blackbird.controller.change.work.starts import (
    Done,
    Restart,
    Start,
    changing,
    continuing,
    new_start,
    ruling,
)
from git_blackbird.controller.change.work.task_run import go_on, work_on
from git_blackbird.controller.change.work.worktree_setup import SetupError
from git_blackbird.controller.core.agents import adding_way_out, agent_for, start_with_other_agent
from git_blackbird.controller.core.guards import BegunElsewhereError, StaleTaskError, require_not_elsewhere
from git_blackbird.controller.core.ui import inform, warn
from git_blackbird.messages.display.format import question_line
from git_blackbird.model.base.next_steps import restart_command
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.states import SUPERSEDED_BY_RESTART, RunStatus
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.locks import TaskLockedError


async def start_task(call: Call, item: Item) -> Stop | None:
    """Start a task; one that changed meanwhile is named and left to the next turn.

    One that has begun in another worktree is named and passed over, unless this call is about it alone.
    """
    workspace, task = call.workspace, item.task
    if deferred_commit_of(workspace, task.id) is not None:
        # A person's commit may do it.
        for text in record_deferred(workspace):
            inform(call.ui, text)
        require_recorded(workspace, task.id)
        return None
    try:
        require_not_elsewhere(workspace, task.id)
        call.count_start()
        if workspace.reviews_changes:
            # Fail before the work is done where its reviewers are missing.
            await call.reviewers()
        return await work_on(call, new_start(workspace, item.state, task, None))
    except StaleTaskError as error:
        warn(call.ui, error.message, task.id)
    except SetupError as error:
        call.skip_task(task.id, error)
    except (BegunElsewhereError, TaskLockedError) as error:
        if call.scope.only == frozenset({task.id}):
            raise
        warn(call.ui, error.message, task.id, error.ways_out)
        call.scope = call.scope._replace(elsewhere=call.scope.elsewhere | {task.id})
    return None


async def begin(call: Call, done: Done) -> Stop | None:
    """Begin what is to be begun; return how the call ends, if it does."""
    match done:
        case Start():
            return await work_on(call, done)
        case Restart():
            return await restart_task(call, done)
        case Stop() | None:
            return done


async def restart_task(call: Call, restart: Restart) -> Stop | None:
    """Supersede the runs of a task, once an agent can start, and start it."""
    workspace, task = call.workspace, restart.task
    call.ledger.require(task.id)
    agent = agent_for(call.workspace, task)
    way = start_with_other_agent(call.workspace, restart_command(task.id), agent.name, task)
    with adding_way_out(call.workspace, way):
        await call.here.version_of(agent)
    await call.require_consent(agent)
    if call.is_interrupted:
        return interrupted_stop(f"before {task.id} was started")
    require_not_elsewhere(call.workspace, task.id)
    if task.status is not Status.TODO:
        reset_task(workspace, task.id, SUPERSEDED_BY_RESTART)
    return await work_on(call, new_start(workspace, workspace.plan_state(), task, restart.message))


async def continue_run(call: Call, item: Item) -> Stop | None:
    """Resume the session; one that asked something decides it itself.

    Stop with the command that restarts the task where that is impossible.
    """
    stop = lost_session_stop(call.workspace, item)
    restarts = call.workspace.config.cluster.on_lost_worker == "restart"
    if restarts and call.launcher.is_machine_lost(item.of_run):
        text = f"{item.task.id} starts again elsewhere, since worker {item.of_run.worker} is gone"
        warn(call.ui, text, item.task.id)
        return await restart_task(call, Restart(item.task, None))
    if stop is not None:
        return stop
    pending = item.state.pending_messages(item.task.id)
    if item.of_run.status is not RunStatus.WAITING_USER:
        start = continuing(call.workspace, item.of_run, item.task, pending, None)
        return await go_on(call, item, start)
    for question in item.of_run.questions:
        inform(call.ui, f"{item.task.id} decides itself: {question_line(question)}", item.task.id)
    return await go_on(call, item, ruling(call.workspace, item.of_run, item.task, pending))


async def apply_change_request(call: Call, item: Item) -> Stop | None:
    """Resume the session with the request.

    Where that is impossible, a request of the reviewers or the check becomes a decision of a person; one of
    a person stops the call.
    """
    workspace, task, run = call.workspace, item.task, item.of_run
    stop = lost_session_stop(workspace, item)
    if stop is None:
        _, summary = change_of(workspace, item.state, task.id)
        pending = item.state.pending_messages(task.id)
        return await go_on(call, item, changing(workspace, run, task, pending, None, summary))
    if run.requested_by is None:
        return stop
    from git_blackbird.controller.change.review.review import replace_request_by_decision

    replace_request_by_decision(workspace, run)
    return None


async def send_feedback(call: Call, item: Item) -> Stop | None:
    """Resume the session with the feedback, once in a call."""
    task = item.task
    call.scope = call.scope._replace(carries=call.scope.carries - {task.id})
    pending = item.state.pending_messages(task.id)
    return await work_on(call, continuing(call.workspace, item.of_run, task, pending, None))
