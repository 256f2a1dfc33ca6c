"""Simulate a plan whose leaves are done one after another, and its parents with them."""

import heapq
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.plan import Plan, Status, Task
from git_blackbird.model.plan.graph import ancestors, is_ready, unmet_deps
from git_blackbird.model.rules.review_gate import open_children


class PlanProgress:
    """Simulate progress from a plan with derived parent statuses; no review blocks anything.

    Parents follow as in ``apply_statuses`` without gates. A step takes time proportional to its changes, not
    to the plan: thousands of them are simulated at once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._done = {task.id for task in plan.tasks.values() if task.status == Status.DONE}
        self._open_children = {
            task.id: len(open_children(plan.tasks, task)) for task in plan.tasks.values() if task.children
        }
        self._unmet = {task.id: len(unmet_deps(plan, task)) for task in plan.tasks.values()}
        self._dependents: defaultdict[TaskId, list[TaskId]] = defaultdict(list)
        for task in plan.tasks.values():
            for dep in task.deps:
                self._dependents[dep].append(task.id)
        self._order = [task for _, task in plan.walk()]
        self._places = {task.id: place for place, task in enumerate(self._order)}
        self._ready = [place for place, task in enumerate(self._order) if is_ready(plan, task)]

    def take_ready(self) -> Task | None:
        """Return the first ready leaf in plan order, each once; None if there is none."""
        return self._order[heapq.heappop(self._ready)] if self._ready else None

    def finish(self, leaf: Task) -> tuple[Task, ...]:
        """Mark a leaf ``done``; return the parents that become done with it, nearest first."""
        parents: list[Task] = []
        task: Task | None = leaf
        while task is not None:
            self._note_done(task)
            task = self._completed_parent(task)
            if task is not None:
                parents.append(task)
        return tuple(parents)

    def done_above(self, parent: Task) -> Iterator[Task]:
        """Yield the ancestors that are ``done``, nearest first, up to one that is not."""
        return takewhile(lambda task: task.id in self._done, ancestors(self._plan, parent))

    def _note_done(self, task: Task) -> None:
        self._done.add(task.id)
        for name in self._dependents[task.id]:
            self._unmet[name] -= 1
            dependent = self._plan.tasks[name]
            if not self._unmet[name] and dependent.is_leaf and dependent.status == Status.TODO:
                heapq.heappush(self._ready, self._places[name])

    def _completed_parent(self, task: Task) -> Task | None:
        """Return the parent if it is ``done`` now and was not before."""
        if task.parent is None:
            return None
        if not task.is_over:
            self._open_children[task.parent] -= 1
        is_new = not self._open_children[task.parent] and task.parent not in self._done
        return self._plan.tasks[task.parent] if is_new else None
