"""What follows from the plan's shape: readiness, ancestors, cycles."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.model.commands import task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task


class Readiness(NamedTuple):
    """Why a task may start now or may not: ``reasons`` is empty exactly when it may."""

    reasons: tuple[str, ...] = ()
    ways_out: tuple[str, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether the task may be started."""
        return not self.reasons


def unmet(plan: Plan, task: Task) -> tuple[TaskId, ...]:
    """Dependencies that are not ``done``; ``skipped`` satisfies nothing."""
    return tuple(dep for dep in task.deps if plan.tasks[dep].status != Status.DONE)


def is_ready(plan: Plan, task: Task) -> bool:
    """Ready is derived, never stored: a leaf, ``todo``, every dependency ``done``."""
    return task.is_leaf and task.status == Status.TODO and not unmet(plan, task)


def readiness(plan: Plan, task: Task) -> Readiness:
    """Say why ``task`` is not ready, one reason a line, and how to get on."""
    reasons: list[str] = []
    ways: list[str] = []
    if not task.is_leaf:
        reasons.append(f"it has children ({', '.join(task.children)}); only leaves are executed")
    if task.status != Status.TODO:
        reasons.append(f"its status is {task.status}, not todo")
    for dep in unmet(plan, task):
        reasons.append(f"its dependency {dep} is {plan.tasks[dep].status}, not done")
        ways.extend(_skipped_ways(plan, plan.tasks[dep], task))
    return Readiness(tuple(reasons), tuple(ways))


def _skipped_ways(plan: Plan, dep: Task, task: Task) -> Iterator[str]:
    """Ways on from a skipped dependency, or from a parent below which everything is skipped."""
    for parent in subtree(plan, dep):
        if parent.is_over or not _is_all_skipped(plan, parent):
            continue
        if parent is dep:
            without = f"done without {', '.join(parent.children)}"
            yield task_command("set-status", parent.id, " done", remark=without)
        else:
            yield task_command("set-status", parent.id, " skipped", remark="all of its children are")
        yield task_command("set-status", parent.children[0], " todo", remark="do it after all")
    if dep.status == Status.SKIPPED:
        yield task_command("set-status", dep.id, " done", remark=f"what {task.id} waits for exists after all")
        yield task_command("set-status", dep.id, " todo", remark="do it after all")


def _is_all_skipped(plan: Plan, parent: Task) -> bool:
    return bool(parent.children) and all(plan.tasks[one].status == Status.SKIPPED for one in parent.children)


def ancestors(plan: Plan, task: Task) -> Iterator[Task]:
    """Parents of ``task``, nearest first."""
    seen = {task.id}
    parent = task.parent
    while parent is not None and parent in plan.tasks and parent not in seen:
        seen.add(parent)
        yield plan.tasks[parent]
        parent = plan.tasks[parent].parent


def subtree(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Give the task and all below it, children in the order of their parent, each after its parent."""
    found: list[Task] = []
    pending = [task]
    while pending:
        current = pending.pop()
        found.append(current)
        pending.extend(plan.tasks[child] for child in reversed(current.children))
    return tuple(found)


def subtree_leaves(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Leaves at or below ``task``, smallest id first."""
    leaves = (one for one in subtree(plan, task) if one.is_leaf)
    return tuple(sorted(leaves, key=lambda leaf: leaf.id))


def dependents(plan: Plan, task_id: TaskId) -> tuple[Task, ...]:
    """Tasks that name ``task_id`` in their dependencies, smallest id first."""
    return tuple(plan.tasks[key] for key in sorted(plan.tasks) if task_id in plan.tasks[key].deps)


def ran_after(plan: Plan, task: Task) -> tuple[Task, ...]:
    """Tasks that depend on this one or a parent of it and are past ``todo``, smallest id first."""
    above = [task, *ancestors(plan, task)]
    found = {one.id: one for base in above for one in dependents(plan, base.id)}
    return tuple(found[key] for key in sorted(found) if found[key].status != Status.TODO)


def find_cycle(edges: Mapping[TaskId, Sequence[TaskId]]) -> tuple[TaskId, ...] | None:
    """Find one cycle, as ``(a, b, a)``; None when there is none. Edges to unknown ids are ignored."""
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
    """Walk depth first without recursion: a plan may be a chain of any length."""
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
    """Find tasks that wait for one another for ever, as ``(a, b, a)``; None when there are none.

    A leaf waits for its dependencies, a parent for its children. Such a plan is valid, but only a status
    set by hand gets it on.
    """
    waits = {
        key: task.children or task.deps for key, task in plan.tasks.items() if task.status != Status.DONE
    }
    return find_cycle(waits)


def find_new_deadlock(before: Plan, after: Plan) -> tuple[TaskId, ...] | None:
    """Find tasks that wait for one another in ``after``, where none did before."""
    if after is before or find_deadlock(before) is not None:
        return None
    return find_deadlock(after)
