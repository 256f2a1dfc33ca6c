"""Which tasks a command takes, in every state."""

from collections.abc import Callable, Iterable, Mapping

from git_blackbird.model.change.stages import Band, Due
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import RETRIABLE
from git_blackbird.model.rules.queue import PENDING, items_in
from git_blackbird.model.rules.reviews import are_children_over
from git_blackbird.model.rules.state import PlanState, ready_tasks, waits_for
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus, RunType


def _resumed(state: PlanState) -> Iterable[Task]:
    items = (item for band in (Band.CHANGE, Band.PERSON, Band.RUN) for item in items_in(band, state))
    return (item.task for item in items if item.due in PENDING)


def _messageable(state: PlanState) -> Iterable[Task]:
    """Leaves that an agent has worked on, which accept messages."""
    return (task for task in state.plan.leaves() if state.history(task.id).latest is not None)


def _at_work(state: PlanState) -> Iterable[Task]:
    """Leaves that an agent works on, which can be told something meanwhile."""
    live = {task.id: state.history(task.id).live for task in state.plan.leaves()}
    return (state.plan.tasks[key] for key, run in live.items() if run is not None and not run.by_hand)


def _resettable(state: PlanState) -> Iterable[Task]:
    return (
        task
        for task in state.plan.unfinished_leaves()
        if task.status in RETRIABLE and state.history(task.id).live is None
    )


def _startable(state: PlanState) -> Iterable[Task]:
    again = (task for task in _resettable(state) if not waits_for(state, task))
    return (*ready_tasks(state), *again)


def _owing_parents(state: PlanState) -> Iterable[Task]:
    """Parents with pending feedback of a review at or below them."""
    owing = (state.plan.tasks[task_id] for task_id in state.feedback)
    return {above.id: above for task in owing for above in ancestors(state.plan, task)}.values()


def _with_reviews(state: PlanState) -> Iterable[Task]:
    """Parents, and leaves with a run, for which there may be reviews."""
    return (task for task in state.plan.tasks.values() if task.children or state.history(task.id).newest)


def _reviewable(state: PlanState) -> Iterable[Task]:
    tasks = state.plan.tasks
    return (
        task
        for task in tasks.values()
        if are_children_over(tasks, task) or (task.is_leaf and _has_change(state.history(task.id).latest))
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
    held = [parent for parent, _ in state.held_parents] if state.is_gated else []
    owing = (state.plan.tasks.get(feedback.parent_task_id) for feedback in state.feedback.values())
    return {task.id: task for task in (*held, *owing) if task is not None}.values()


TAKERS: Mapping[str, Callable[[PlanState], Iterable[Task]]] = {
    "execute": ready_tasks,
    "decide": lambda state: (task for task, _ in state.due[Due.DECIDE]),
    "resume": _resumed,
    "resume -m": _messageable,
    "resume --all": _owing_parents,
    "tell": _at_work,
    "review show": _with_reviews,
    "review run": _reviewable,
    "review dismiss": _dismissable,
    "restart": _startable,
    "retry": _resettable,
}
"""The tasks that a command takes."""
