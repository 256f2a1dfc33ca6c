"""Which statuses a commit takes along into the plan in git, and from one plan into another."""

from collections.abc import Iterable

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import moment_of
from git_blackbird.model.plan.plan import Plan, Task, derived
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import is_complete


def with_status_of(task_id: TaskId, committed: Plan, after: Plan) -> Plan:
    """Return a plan in git with the status that a task has ``after``, and those of parents that agree there.

    A parent is done, or is not any more, in the commit in which the children that it has in git say so too:
    that of its last child, or after its review the next one.
    """
    if task_id not in committed.tasks or task_id not in after.tasks:
        return committed
    tasks = dict(committed.tasks)
    tasks[task_id] = _restated(tasks[task_id], after.tasks[task_id])
    for parent in reversed(committed.parents()):
        now = after.tasks.get(parent.id, parent)
        is_done = now.status is Status.DONE
        if is_done != (parent.status is Status.DONE) and is_done == is_complete(tasks, parent):
            tasks[parent.id] = _restated(parent, now)
    return Plan(tasks)


def restated_tasks(before: Plan, after: Plan) -> tuple[Task, ...]:
    """Return the tasks whose status or time differs from that before."""
    both = ((before.tasks[task_id], task) for task_id, task in after.tasks.items() if task_id in before.tasks)
    return tuple(now for was, now in both if (was.status, was.updated_at) != (now.status, now.updated_at))


def with_statuses(plan: Plan, restated: Iterable[Task]) -> Plan:
    """Return a plan in which these tasks, where it has them, have these statuses and times."""
    known = (task for task in restated if task.id in plan.tasks)
    return plan.replaced(*(_restated(plan.tasks[task.id], task) for task in known))


def _restated(task: Task, now: Task) -> Task:
    return derived(task, now.status, moment_of(now.updated_at))
