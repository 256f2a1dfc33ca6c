"""Stop: nothing is due in the call any more."""

from collections.abc import Iterable
from dataclasses import replace

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import refused_session_text, unreadable_stop
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.cli_hints import EXECUTE, restart_command, task_command
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import pending_items, stuck_tasks
from git_blackbird.model.rules.next_action import CallScope, Idle
from git_blackbird.model.rules.state import PlanState, ready_tasks
from git_blackbird.model.views.stop import Stop, StopReason


def idle_stop(engine: Engine, action: Idle, state: PlanState) -> Stop:
    """Return the stop by what the call did, and what is blocked."""
    return replace(_stop(engine, state), blocked=action.blocked)


def _stop(engine: Engine, state: PlanState) -> Stop:
    if engine.lost_sessions:
        run = engine.lost_sessions[0]
        steps = tuple(restart_command(lost.task_id) for lost in engine.lost_sessions)
        return Stop(StopReason.AGENT_UNAVAILABLE, refused_session_text(run), steps, run.task_id)
    if (stop := unreadable_stop(state, engine.scope)) is not None:
        return stop
    failed = [task_id for task_id in sorted(engine.touched) if _is_failed(state, task_id)]
    if failed:
        steps = tuple(task_command("runs", task_id) for task_id in failed)
        return Stop(StopReason.FAILED, f"failed: {', '.join(failed)}", steps)
    return Stop(StopReason.COMPLETED, _completed_text(state), tuple(_next_steps(engine.scope, state)))


def _is_failed(state: PlanState, task_id: TaskId) -> bool:
    task = state.plan.tasks.get(task_id)
    return task is not None and task.status == Status.FAILED


def _completed_text(state: PlanState) -> str:
    tasks = state.plan.tasks
    if all(task.status == Status.DONE for task in tasks.values()):
        return "every task is done" if tasks else "the plan has no tasks"
    left = len(ready_tasks(state))
    if left:
        return f"this call is done; {left} {'task is' if left == 1 else 'tasks are'} ready"
    return "no ready tasks remaining"


def _next_steps(scope: CallScope, state: PlanState) -> Iterable[str]:
    """Return the commands that go on with the plan; failures of earlier calls are not this call's."""
    commands = {item.task.id: item.command for item in pending_items(state)}
    commands |= {stuck.task.id: stuck.command for stuck in stuck_tasks(state)}
    yield from (command for task_id, command in commands.items() if scope.covers(task_id))
    for task in state.plan.leaves():
        if task.status == Status.FAILED and scope.covers(task.id):
            yield task_command("retry", task.id)
    if ready_tasks(state):
        yield EXECUTE
