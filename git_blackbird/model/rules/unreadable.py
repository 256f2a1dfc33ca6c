"""Tasks blocked by unusable records, and tasks that depend on these."""

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.plan import Status, Task
from git_blackbird.model.plan.graph import Readiness, is_ready, readiness, subtree, unmet_deps
from git_blackbird.model.rules.state import PlanState

UNREADABLE = "one of its records cannot be used"


def unreadable_below(state: PlanState, parent: Task) -> list[Task]:
    """Return the blocked tasks at or below a task, for which nothing may be concluded."""
    return [task for task in subtree(state.plan, parent) if task.id in state.unreadable]


def waits_for(state: PlanState, task: Task) -> tuple[TaskId, ...]:
    """Return the dependencies that are not ``done``, or for which that is not reliable."""
    waits = frozenset(unmet_deps(state.plan, task))
    return tuple(dep for dep in task.deps if dep in waits or _is_unreliable(state, dep))


def _is_unreliable(state: PlanState, dep: TaskId) -> bool:
    return bool(state.unreadable) and bool(unreadable_below(state, state.plan.tasks[dep]))


def is_stopped(state: PlanState, task: Task) -> bool:
    """Whether a record blocks a task or one that it depends on."""
    return task.id in state.unreadable or any(_is_unreliable(state, dep) for dep in task.deps)


def may_start(state: PlanState, task: Task) -> bool:
    """Whether a task is ready and not blocked by a record."""
    return is_ready(state.plan, task) and not is_stopped(state, task)


def ready_tasks(state: PlanState) -> tuple[Task, ...]:
    """Return every task that may start, in plan order."""
    return tuple(task for task in state.plan.leaves() if may_start(state, task))


def blocked_tasks(state: PlanState) -> dict[TaskId, tuple[TaskId, ...]]:
    """Return the dependencies that each waiting ``todo`` leaf waits for."""
    return {
        task.id: waits
        for task in state.plan.leaves()
        if task.status == Status.TODO and (waits := waits_for(state, task))
    }


def full_readiness(state: PlanState, task: Task) -> Readiness:
    """Return why a task may not start, including unusable records."""
    unmet = readiness(state.plan, task)
    own = state.unreadable.get(task.id, ())
    reasons = [f"{UNREADABLE}: {fault.path}: {fault.what}" for fault in own]
    hints = [fault.hint for fault in own]
    for dep in task.deps:
        for stopped in unreadable_below(state, state.plan.tasks[dep]) if state.unreadable else ():
            below = "" if stopped.id == dep else f" (of {stopped.id} below it)"
            reasons.append(f"a record of its dependency {dep}{below} cannot be used")
            hints += [fault.hint for fault in state.unreadable[stopped.id]]
    return Readiness((*unmet.reasons, *reasons), (*unmet.hints, *hints))
