"""Stop: nothing is due any more, or a person must go on with parents and leaves that a review flagged."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from git_blackbird.controller.engine.engine import Engine
from git_blackbird.controller.engine.stops import refused_session_text, unreadable_stop
from git_blackbird.controller.queries.reviews import parent_review_status
from git_blackbird.model.entities.cli_hints import EXECUTE, dismiss_command, restart_command, task_command
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import pending_items, resume_command, stuck_tasks
from git_blackbird.model.rules.next_action import CallScope, Idle, ParentReviewRequired
from git_blackbird.model.rules.state import ParentReviewStatus, PlanState, feedback_below, ready_tasks
from git_blackbird.model.views.stop import Stop, StopReason


def idle_stop(engine: Engine, action: Idle, state: PlanState) -> Stop:
    """Return the stop by what the call did, and what is blocked."""
    tasks, stop = state.plan.tasks, unreadable_stop(state, engine.scope)
    touched = sorted(engine.touched & tasks.keys())
    failed = [task_id for task_id in touched if tasks[task_id].status == Status.FAILED]
    if engine.lost_sessions:
        run = engine.lost_sessions[0]
        steps = tuple(restart_command(lost.task_id) for lost in engine.lost_sessions)
        stop = Stop(StopReason.AGENT_UNAVAILABLE, refused_session_text(run), steps, run.task_id)
    elif stop is None and failed:
        steps = tuple(task_command("runs", task_id) for task_id in failed)
        stop = Stop(StopReason.FAILED, f"failed: {', '.join(failed)}", steps)
    elif stop is None:
        next_steps = tuple(_next_steps(engine.scope, state))
        stop = Stop(StopReason.COMPLETED, _completed_text(state), next_steps)
    return replace(stop, blocked=action.blocked)


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


def parent_review_stop(state: PlanState, action: ParentReviewRequired) -> Stop:
    """Name the parents and leaves, with the commands that go on with each."""
    parents = tuple(parent_review_status(state, parent) for parent in action.parents)
    commands = {item.task.id: item.command for item in pending_items(state)}

    def resume(leaf: Task) -> str:
        return commands.get(leaf.id) or resume_command(state, leaf)

    steps = [resume(leaf) for leaf in action.leaves]
    for parent in parents:
        if parent.fault is not None:
            leaves = feedback_below(state, state.plan.tasks[parent.task_id])
            again = task_command("review run", parent.task_id) if leaves else EXECUTE
            steps += [*(resume(leaf) for leaf in leaves), again, dismiss_command(parent.task_id)]
    return Stop(
        StopReason.PARENT_REVIEW_REQUIRED,
        _text(parents, action.leaves),
        tuple(dict.fromkeys(steps)),
        parents[0].task_id if parents else action.leaves[0].parent,
        held=parents,
    )


def _text(parents: Sequence[ParentReviewStatus], leaves: Sequence[Task]) -> str:
    if not parents:
        return f"{', '.join(leaf.id for leaf in leaves)} has open review feedback"
    failed = ", ".join(parent.task_id for parent in parents if parent.fault is None)
    without_verdict = (
        f"no verdict on {parent.task_id}: {parent.fault}" for parent in parents if parent.fault is not None
    )
    return "; ".join([*([f"parent review failed for {failed}"] if failed else []), *without_verdict])
