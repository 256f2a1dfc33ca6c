"""Select the tasks that a command accepts, by their state."""

from collections.abc import Callable, Iterable, Mapping

from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import DecisionState, Run, RunStatus, RunType
from git_blackbird.model.entities.status import Status
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.rules.attention import pending_decisions, pending_items
from git_blackbird.model.rules.review_gate import is_complete
from git_blackbird.model.rules.state import PlanState, blocked_parents, ready_tasks, waits_for

RETRIABLE = frozenset({Status.FAILED, Status.WAITING_USER, Status.BLOCKED, Status.IN_PROGRESS})


def _waiting(state: PlanState) -> Iterable[Task]:
    return (item.task for item in pending_items(state))


def _messageable(state: PlanState) -> Iterable[Task]:
    """Leaves that an agent has worked on, which accept messages."""
    return (task for task in state.plan.leaves() if state.latest(task.id) is not None)


def _undecided(state: PlanState) -> Iterable[Task]:
    return (due.task for due in pending_decisions(state))


def _resettable(state: PlanState) -> Iterable[Task]:
    return (
        task
        for task in state.plan.leaves()
        if task.status in RETRIABLE and state.history(task.id).live is None
    )


def _startable(state: PlanState) -> Iterable[Task]:
    again = (task for task in _resettable(state) if not waits_for(state, task))
    return {task.id: task for task in (*ready_tasks(state), *again)}.values()


def _owing_parents(state: PlanState) -> Iterable[Task]:
    """Parents with pending feedback of a review at or below them."""
    owing = (state.plan.tasks[task_id] for task_id in state.feedback)
    return {above.id: above for task in owing for above in ancestors(state.plan, task)}.values()


def _shown(state: PlanState) -> Iterable[Task]:
    """Parents, and leaves with a run, for which there may be reviews."""
    return (task for task in state.plan.tasks.values() if task.children or state.history(task.id).own)


def _reviewable(state: PlanState) -> Iterable[Task]:
    tasks = state.plan.tasks
    return (
        task
        for task in tasks.values()
        if is_complete(tasks, task) or (task.is_leaf and _has_change(state.latest(task.id)))
    )


def _has_change(run: Run | None) -> bool:
    """Whether an agent made a change for which no changes are requested."""
    return (
        run is not None
        and run.status is RunStatus.SUCCESS
        and run.run_type is RunType.EXECUTE
        and run.decision_state is not DecisionState.CHANGES_REQUESTED
    )


def _dismissable(state: PlanState) -> Iterable[Task]:
    tasks = state.plan.tasks
    held = [parent.task for parent in blocked_parents(state)] if state.is_gated else []
    owing = (tasks.get(feedback.parent_task_id) for feedback in state.feedback.values())
    return {task.id: task for task in (*held, *owing) if task is not None}.values()


BY_STATE: Mapping[str, Callable[[PlanState], Iterable[Task]]] = {
    "execute": ready_tasks,
    "decide": _undecided,
    "resume": _waiting,
    "resume -m": _messageable,
    "resume --all": _owing_parents,
    "review show": _shown,
    "review run": _reviewable,
    "review dismiss": _dismissable,
    "restart": _startable,
    "retry": _resettable,
}
