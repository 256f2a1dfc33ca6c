"""The one word for the state of a task, wherever people see it."""

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import is_ready, unmet_deps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status

NONE_STOPPED: frozenset[TaskId] = frozenset()


def state_label(plan: Plan, task: Task, stopped: frozenset[TaskId] = NONE_STOPPED) -> str:
    """Return the label of a task, as in the Go program's list.

    ``stopped`` are ready tasks that may not start.
    """
    if task.status in {Status.TODO, Status.BLOCKED}:
        if is_ready(plan, task) and task.id not in stopped:
            return "READY"
        return "TODO" if task.children and not unmet_deps(plan, task) else "BLOCKED"
    return task.status.value.upper()
