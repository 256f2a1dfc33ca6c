"""The graph of the plan: readiness, what waits for what, ancestors, cycles, the difference of two plans."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status


class Readiness(NamedTuple):
    """Whether a task may start now: ``reasons`` against it are empty exactly if it may."""

    reasons: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        return not self.reasons


def unmet_deps(plan: Plan, task: Task) -> tuple[TaskId, ...]:
    """Return the dependencies that are not ``done``; ``skipped`` does not satisfy one."""
    return tuple(dep for dep in task.deps if plan.tasks[dep].status != Status.DONE)


def is_ready(plan: Plan, task: Task) -> bool:
    """Whether a task is ready, which is never stored: a ``todo`` leaf with every dependency ``done``."""
    return task.is_leaf and task.status == Status.TODO and not unmet_deps(plan, task)


def readiness(plan: Plan, task: Task) -> Readiness:
    """Return why ``task`` is not ready, one reason a line, and hints."""
    reasons: list[str] = []
    hints: list[str] = []
    if not task.is_leaf:
        reasons.append(f"it has children ({', '.join(task.children)}); only leaves are executed")
    if task.status != Status.TODO:
        reasons.append(f"its status is {task.status}, not todo")
    for dep in unmet_deps(plan, task):
        reasons.append(f"its dependency {dep} is {plan.tasks[dep].status}, not done")
        hints.extend(_skipped_hints(plan, plan.tasks[dep], task))
    return Readiness(tuple(reasons), tuple(hints))


def _skipped_hints(plan: Plan, dep: Task, task: Task) -> Iterator[str]:
    """Return hints for a skipped dependency, or a parent whose leaves are all skipped."""
    for parent in subtree(plan, dep):
        children = [plan.tasks[child] for child in parent.children]
        if parent.is_over or not children or any(child.status != Status.SKIPPED for child in children):
            continue
        if parent is dep:
            without = f"done without {', '.join(parent.children)}"
            yield TaskCommand("set-status", parent.id, " done", remark=without)
        else:
            yield TaskCommand("set-status", parent.id, " skipped", remark="all of its children are")
        yield TaskCommand("set-status", parent.children[0], " todo", remark="it still has to be done")
    if dep.status == Status.SKIPPED:
        yield TaskCommand("set-status", dep.id, " done", remark=f"it is done, or {task.id} does not need it")
        yield TaskCommand("set-status", dep.id, " todo", remark="it still has to be done")


def ancestors(plan: Plan, task: Task) -> Iterator[Task]:
    """Return the parents of ``task``, nearest first."""
    seen = {task.id}
    parent = task.parent
    while parent is not None and parent in plan.tasks and parent not in seen:
        seen.add(parent)
        yield plan.tasks[parent]
        parent = plan.tasks[parent].parent


def subtree(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Return the task and its descendants, each after its parent, siblings in their order."""
    tasks: list[Task] = []
    pending = [task]
    while pending:
        current = pending.pop()
        tasks.append(current)
        pending.extend(plan.tasks[child] for child in reversed(current.children))
    return tuple(tasks)


def subtree_leaves(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Return the leaves at or below ``task``, smallest id first."""
    leaves = (leaf for leaf in subtree(plan, task) if leaf.is_leaf)
    return tuple(sorted(leaves, key=lambda leaf: leaf.id))


def dependents(plan: Plan, task_id: TaskId) -> tuple[Task, ...]:
    """Return the tasks that depend on ``task_id``, smallest id first."""
    return tuple(plan.tasks[key] for key in sorted(plan.tasks) if task_id in plan.tasks[key].deps)


def started_dependents(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Return the tasks past ``todo`` that depend on this one or a parent of it, smallest id first."""
    above = [task, *ancestors(plan, task)]
    tasks = {dependent.id: dependent for base in above for dependent in dependents(plan, base.id)}
    return tuple(tasks[key] for key in sorted(tasks) if tasks[key].status != Status.TODO)


def find_cycle(edges: Mapping[TaskId, Sequence[TaskId]]) -> tuple[TaskId, ...] | None:
    """Find one cycle, as ``(a, b, a)``, or None. Edges to unknown ids are ignored."""
    finished: set[TaskId] = set()
    for start in sorted(edges):
        if finished.issuperset(edges[start]):
            finished.add(start)
            continue
        cycle = _cycle_from(start, edges, finished)
        if cycle is not None:
            return cycle
    return None


def _cycle_from(
    start: TaskId, edges: Mapping[TaskId, Sequence[TaskId]], finished: set[TaskId]
) -> tuple[TaskId, ...] | None:
    """Search depth first without recursion: a plan may be a chain of any length."""
    path: dict[TaskId, Iterator[TaskId]] = {}
    if start not in finished:
        path[start] = iter(edges[start])
    while path:
        here, onward = next(reversed(path.items()))
        step = next((node for node in onward if node in edges and node not in finished), None)
        if step is None:
            finished.add(here)
            path.popitem()
        elif step in path:
            loop = list(path)
            return (*loop[loop.index(step) :], step)
        else:
            path[step] = iter(edges[step])
    return None


def find_deadlock(plan: Plan) -> tuple[TaskId, ...] | None:
    """Find tasks that wait for each other forever, as ``(a, b, a)``, or None.

    A leaf waits for its dependencies, a parent for its children. Such a plan is valid, but only setting a
    status by hand resolves it.
    """
    waits = {
        key: task.children or task.deps for key, task in plan.tasks.items() if task.status != Status.DONE
    }
    return find_cycle(waits)


def find_new_deadlock(before: Plan, after: Plan) -> tuple[TaskId, ...] | None:
    """Find tasks that wait for each other in ``after``, if none did before."""
    if after is before or find_deadlock(before) is not None:
        return None
    return find_deadlock(after)


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
    from graphlib import CycleError, TopologicalSorter  # only where it is counted

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


_QUIET = frozenset({"updated_at", "created_at", "id"})


def describe_changes(before: Plan, after: Plan) -> tuple[str, ...]:
    """List additions, removals and edits, one line for each task, smallest id first."""
    lines: list[str] = []
    for task_id in sorted(before.tasks.keys() | after.tasks.keys()):
        line = _describe(task_id, before.tasks.get(task_id), after.tasks.get(task_id))
        if line is not None:
            lines.append(line)
    return tuple(lines)


def _describe(task_id: TaskId, before: Task | None, after: Task | None) -> str | None:
    if before is None:
        return f"{task_id} was added"
    if after is None:
        return f"{task_id} was removed"
    if before == after:
        return None
    edited = [
        field.name
        for field in fields(Task)
        if field.name not in _QUIET and getattr(before, field.name) != getattr(after, field.name)
    ]
    if not edited:
        return None
    if edited == ["status"]:
        return f"{task_id} was set from {before.status} to {after.status}"
    return f"{task_id} was edited: {', '.join(edited)}"


Labels = Mapping[TaskId, str]
NO_LABELS: Labels = MappingProxyType({})


def state_label(plan: Plan, task: Task, labels: Labels = NO_LABELS) -> str:
    """Return the label of a task, as in the Go program's list; ``labels`` are those that records give."""
    if task.id in labels:
        return labels[task.id]
    if task.status in {Status.TODO, Status.BLOCKED}:
        if is_ready(plan, task):
            return "READY"
        return "TODO" if task.children and not unmet_deps(plan, task) else "BLOCKED"
    return task.status.value.upper()
