"""The end of a call with nothing left to do: what it did, what is due, and the commands for that."""

from collections.abc import Iterable
from dataclasses import replace

from git_blackbird.controller.change.call import Call
from git_blackbird.controller.engine.stops import parent_review_stop, unreadable_stop
from git_blackbird.messages.display.quantities import counted, format_moment
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.change.stages import BY_ITSELF, Due
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import REVIEWS_OF_PARENTS, queue
from git_blackbird.model.rules.scope import CallScope, review_stops
from git_blackbird.model.rules.state import PlanState, blocked_tasks, ready_tasks
from git_blackbird.model.views.stop import Stop, StopReason


def end_of_call(stop: Stop, scope: CallScope, state: PlanState) -> Stop:
    """Return the stop of a call; one that was to go on until a time also says all that is due by then.

    What unblocks most comes first: people come back to it.
    """
    if scope.until is None or stop.is_choice or stop.reason is StopReason.INTERRUPTED:
        return stop
    return replace(stop, next_steps=tuple(dict.fromkeys((*_next_steps(scope, state), *stop.next_steps))))


def last_stop(call: Call, state: PlanState) -> Stop:
    """Return the stop of a call with nothing left to do, with what is blocked, or at reviews."""
    if not call.scope.starts_agents:
        return _decided_stop(state, call.scope)
    if held := review_stops(state, call.scope):
        return parent_review_stop(state, held)
    tasks, stop = state.plan.tasks, unreadable_stop(state, call.scope)
    touched = sorted(call.touched & tasks.keys())
    failed = [task_id for task_id in touched if tasks[task_id].status == Status.FAILED]
    if stop is None and call.not_set_up:
        text = "; ".join(error.message for error in call.not_set_up.values())
        stop = Stop(StopReason.FAILED, text, (EXECUTE,))
    elif stop is None and failed:
        text = f"failed: {', '.join(failed)}"
        stop = Stop(StopReason.FAILED, text, tuple(_steps_after_failures(state, failed)))
    elif stop is None:
        next_steps = tuple(_next_steps(call.scope, state))
        stop = Stop(StopReason.COMPLETED, f"{_time_text(call)}{_completed_text(state)}", next_steps)
    return replace(stop, blocked=blocked_tasks(state))


def _decided_stop(state: PlanState, scope: CallScope) -> Stop:
    """Return the stop of a call that only decides and lands."""
    due = sum(scope.covers(task.id) for task, _ in state.due[Due.DECIDE])
    text = f"{counted(due, 'decision')} left" if due else "no decision waits"
    return Stop(StopReason.COMPLETED, text, tuple(_next_steps(scope, state)))


def _steps_after_failures(state: PlanState, failed: Iterable[TaskId]) -> Iterable[str]:
    for task_id in failed:
        run = state.history(task_id).latest
        if run is not None and run.way_out is not None:
            yield run.way_out
        yield TaskCommand("runs", task_id)


def _time_text(call: Call) -> str:
    """Return the remark that nothing starts any more; "" as long as the call has time."""
    until = call.scope.until
    if until is None or call.workspace.environment.now() < until:
        return ""
    return f"nothing starts after {format_moment(format_timestamp(until))}; "


def _completed_text(state: PlanState) -> str:
    tasks = state.plan.tasks
    if all(task.status == Status.DONE for task in tasks.values()):
        return "every task is done" if tasks else "the plan has no tasks"
    left = len(ready_tasks(state))
    if left:
        return f"this call is done; {left} {'task is' if left == 1 else 'tasks are'} ready"
    return "no ready tasks remaining"


# What the next call does, and what a call has told with a stop of its own.
_NO_STEPS = BY_ITSELF | REVIEWS_OF_PARENTS | {Due.FINISH, Due.UNREADABLE}


def _next_steps(scope: CallScope, state: PlanState) -> Iterable[str]:
    """Return the commands that go on with the plan; failures of earlier calls are not this call's."""
    for item in queue(state):
        if item.due is Due.START:
            yield EXECUTE
            return
        if item.due not in _NO_STEPS and scope.covers(item.task.id):
            yield item.command
