"""What a record that cannot be used stops: its task, and whatever builds on that."""

from git_blackbird.model.graph import Readiness, is_ready, readiness, subtree, unmet
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.standing import Standing

UNREADABLE = "a record of it cannot be used"


def unreadable_below(standing: Standing, parent: Task) -> list[Task]:
    """Give the stopped tasks at or below a task: nothing may be concluded beside them."""
    return [task for task in subtree(standing.plan, parent) if task.id in standing.unreadable]


def waits_for(standing: Standing, task: Task) -> tuple[TaskId, ...]:
    """Give the dependencies that are not ``done``, or of which that cannot be relied on."""
    waits = frozenset(unmet(standing.plan, task))
    return tuple(dep for dep in task.deps if dep in waits or _is_unreliable(standing, dep))


def _is_unreliable(standing: Standing, dep: TaskId) -> bool:
    return bool(standing.unreadable) and bool(unreadable_below(standing, standing.plan.tasks[dep]))


def is_stopped(standing: Standing, task: Task) -> bool:
    """Whether a record stops a task, or what it builds on."""
    return task.id in standing.unreadable or any(_is_unreliable(standing, dep) for dep in task.deps)


def may_start(standing: Standing, task: Task) -> bool:
    """Whether a task is ready, and no record stops it or what it builds on."""
    return is_ready(standing.plan, task) and not is_stopped(standing, task)


def ready_tasks(standing: Standing) -> tuple[Task, ...]:
    """Give every task that may start, in plan order."""
    return tuple(task for task in standing.plan.leaves() if may_start(standing, task))


def blocked_tasks(standing: Standing) -> dict[TaskId, tuple[TaskId, ...]]:
    """For each ``todo`` leaf that waits for others, the dependencies it waits for."""
    return {
        task.id: waits
        for task in standing.plan.leaves()
        if task.status == Status.TODO and (waits := waits_for(standing, task))
    }


def full_readiness(standing: Standing, task: Task) -> Readiness:
    """Say why a task may not start, records that cannot be used among the reasons."""
    plan_says = readiness(standing.plan, task)
    own = standing.unreadable.get(task.id, ())
    reasons = [f"{UNREADABLE}: {fault.path}: {fault.what}" for fault in own]
    ways = [fault.way_out for fault in own]
    for dep in task.deps:
        for one in unreadable_below(standing, standing.plan.tasks[dep]) if standing.unreadable else ():
            below = "" if one.id == dep else f" (of {one.id} below it)"
            reasons.append(f"a record of its dependency {dep}{below} cannot be used")
            ways += [fault.way_out for fault in standing.unreadable[one.id]]
    return Readiness((*plan_says.reasons, *reasons), (*plan_says.ways_out, *ways))
