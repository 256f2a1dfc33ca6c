"""Which tasks a command takes, as far as their state says: what completion offers."""

from collections.abc import Callable, Iterable, Mapping

from git_blackbird.model.decisions import pending_decisions
from git_blackbird.model.gate import is_complete
from git_blackbird.model.graph import ancestors
from git_blackbird.model.held import unreviewed
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import owed_by_person
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.run import DecisionState, Run, RunStatus, RunType
from git_blackbird.model.standing import Standing
from git_blackbird.model.unreadable import ready_tasks, waits_for

RETRIABLE = frozenset({Status.FAILED, Status.WAITING_USER, Status.BLOCKED, Status.IN_PROGRESS})


def choosable_tasks(command: str, standing: Standing) -> tuple[Task, ...]:
    """Give the tasks that ``command`` would take now, by id; all of them where state is no matter."""
    choose = BY_STATE.get(command)
    chosen = standing.plan.tasks.values() if choose is None else choose(standing)
    stopped = frozenset() if choose in {None, _shown} else standing.unreadable.keys()
    return tuple(sorted((task for task in chosen if task.id not in stopped), key=lambda task: task.id))


def choosable_deps(verb: str, plan: Plan, task_id: str) -> tuple[Task, ...]:
    """Give the tasks that ``deps VERB TASK`` would take, by id: those there are, or those there could be."""
    task = plan.tasks.get(TaskId(task_id))
    own = frozenset() if task is None or verb == "set" else frozenset(task.deps)
    return tuple(
        one
        for one in choosable_tasks("deps", Standing(plan, {}))
        if one.id != task_id and (one.id in own) == (verb == "remove")
    )


def _waiting(standing: Standing) -> Iterable[Task]:
    return (owed.task for owed in owed_by_person(standing))


def _told(standing: Standing) -> Iterable[Task]:
    """Leaves that an agent has worked on: it may be told something."""
    return (task for task in standing.plan.leaves() if standing.latest(task.id) is not None)


def _undecided(standing: Standing) -> Iterable[Task]:
    return (due.task for due in pending_decisions(standing))


def _resettable(standing: Standing) -> Iterable[Task]:
    return (
        task
        for task in standing.plan.leaves()
        if task.status in RETRIABLE and standing.history(task.id).live is None
    )


def _startable(standing: Standing) -> Iterable[Task]:
    again = (task for task in _resettable(standing) if not waits_for(standing, task))
    return {task.id: task for task in (*ready_tasks(standing), *again)}.values()


def _owing_parents(standing: Standing) -> Iterable[Task]:
    """Parents below which something of a review is owed."""
    owing = (standing.plan.tasks[task_id] for task_id in standing.feedback)
    return {above.id: above for task in owing for above in ancestors(standing.plan, task)}.values()


def _shown(standing: Standing) -> Iterable[Task]:
    """Parents, and leaves of which there is a run: what a review can be about."""
    return (task for task in standing.plan.tasks.values() if task.children or standing.history(task.id).own)


def _reviewable(standing: Standing) -> Iterable[Task]:
    tasks = standing.plan.tasks
    return (
        task
        for task in tasks.values()
        if is_complete(tasks, task) or (task.is_leaf and _has_change(standing.latest(task.id)))
    )


def _has_change(run: Run | None) -> bool:
    """Whether an agent made a change that nobody has asked changes of."""
    return (
        run is not None
        and run.status is RunStatus.SUCCESS
        and run.run_type is RunType.EXECUTE
        and run.decision_state is not DecisionState.CHANGES_REQUESTED
    )


def _dismissable(standing: Standing) -> Iterable[Task]:
    tasks = standing.plan.tasks
    held = [one.task for one in unreviewed(standing)] if standing.is_gated else []
    owing = (tasks.get(owed.parent_task_id) for owed in standing.feedback.values())
    return {task.id: task for task in (*held, *owing) if task is not None}.values()


BY_STATE: Mapping[str, Callable[[Standing], Iterable[Task]]] = {
    "execute": ready_tasks,
    "decide": _undecided,
    "resume": _waiting,
    "resume -m": _told,
    "resume --all": _owing_parents,
    "review show": _shown,
    "review run": _reviewable,
    "review dismiss": _dismissable,
    "restart": _startable,
    "retry": _resettable,
}
