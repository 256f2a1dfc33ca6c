"""How many tasks wait for each task and for nothing else: so much does the answer of a person unblock."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import unmet_deps
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status


def count_unblocked(plan: Plan, owing: Collection[TaskId]) -> Mapping[TaskId, int]:
    """Count the todo leaves that wait for a task alone, directly or through others; 0 is left out.

    ``owing`` are the leaves with feedback of a review. A parent whose children are over waits for the one of
    them that is owing, else for its review.
    """
    tasks = (*plan.unfinished_leaves(), *plan.parents(), *(plan.tasks[task_id] for task_id in owing))
    before = {task.id: tuple(_before(plan, task, owing)) for task in tasks}
    causes: dict[TaskId, TaskId | None] = {}
    for task_id in _in_order(before):
        causes[task_id] = _cause(plan, task_id, before.get(task_id, ()), causes)
    waiting = (task for task in plan.unfinished_leaves() if task.status is Status.TODO)
    counts = Counter(cause for task in waiting if (cause := causes.get(task.id)) != task.id and cause)
    return {task_id: counts[cause] for task_id, cause in causes.items() if cause in counts and cause}


def _in_order(before: Mapping[TaskId, tuple[TaskId, ...]]) -> Iterable[TaskId]:
    """Return tasks, each after all that it waits for; nothing of a deadlock."""
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError:
        return ()


def _before(plan: Plan, task: Task, owing: Collection[TaskId]) -> Iterator[TaskId]:
    """Yield what must happen before a task is worked on, or before a parent is reviewed."""
    if task.status is Status.TODO and task.is_leaf:
        yield from unmet_deps(plan, task)
    yield from (child for child in task.children if child in owing or not plan.tasks[child].is_over)


def _cause(
    plan: Plan, task_id: TaskId, before: tuple[TaskId, ...], causes: Mapping[TaskId, TaskId | None]
) -> TaskId | None:
    """Return the one task for which this one waits, itself where that is for no other; None for several."""
    found = {causes[one] for one in before}
    if len(found) == 1:
        return found.pop()
    is_over = all(plan.tasks[one].is_over for one in before)
    return task_id if is_over else None
