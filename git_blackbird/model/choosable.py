"""Which tasks a command takes, as far as their state says: what completion offers."""

from collections.abc import Callable, Iterable, Mapping

from git_blackbird.model.due import owed_by_person, pending_decisions
from git_blackbird.model.graph import ready, unmet
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task

RETRIABLE = frozenset({Status.FAILED, Status.WAITING_USER, Status.BLOCKED, Status.IN_PROGRESS})

Histories = Mapping[TaskId, History]


def choosable_tasks(command: str, plan: Plan, histories: Histories) -> tuple[Task, ...]:
    """Give the tasks that ``command`` would take now, by id; all of them where state is no matter."""
    choose = BY_STATE.get(command)
    chosen = plan.tasks.values() if choose is None else choose(plan, histories)
    return tuple(sorted(chosen, key=lambda task: task.id))


def choosable_deps(verb: str, plan: Plan, task_id: str) -> tuple[Task, ...]:
    """Give the tasks that ``deps VERB TASK`` would take, by id: those there are, or those there could be."""
    task = plan.tasks.get(TaskId(task_id))
    own = frozenset() if task is None or verb == "set" else frozenset(task.deps)
    return tuple(
        one
        for one in choosable_tasks("deps", plan, {})
        if one.id != task_id and (one.id in own) == (verb == "remove")
    )


def _waiting(plan: Plan, histories: Histories) -> Iterable[Task]:
    return (owed.task for owed in owed_by_person(plan, histories))


def _undecided(plan: Plan, histories: Histories) -> Iterable[Task]:
    return (due.task for due in pending_decisions(plan, histories))


def _resettable(plan: Plan, histories: Histories) -> Iterable[Task]:
    return (
        task
        for task in plan.leaves()
        if task.status in RETRIABLE and histories.get(task.id, History()).live is None
    )


def _startable(plan: Plan, histories: Histories) -> Iterable[Task]:
    again = (task for task in _resettable(plan, histories) if not unmet(plan, task))
    return {task.id: task for task in (*ready(plan), *again)}.values()


BY_STATE: Mapping[str, Callable[[Plan, Histories], Iterable[Task]]] = {
    "execute": lambda plan, _: ready(plan),
    "decide": _undecided,
    "resume": _waiting,
    "restart": _startable,
    "retry": _resettable,
}
