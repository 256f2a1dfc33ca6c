"""A plan on which one leaf after another becomes ``done``, and its parents with it."""

import heapq
from collections import defaultdict

from git_blackbird.model.gate import open_children
from git_blackbird.model.graph import is_ready, unmet
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task


class PlanProgress:
    """Goes on from a plan whose parents are settled; no review holds anything back.

    The parents are what ``apply_statuses`` makes of them where no gate is on. A step takes as long as what
    it changes, not as long as the plan: thousands of them are looked ahead at once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._done = {task.id for task in plan.tasks.values() if task.status == Status.DONE}
        self._open_children = {
            task.id: len(open_children(plan.tasks, task)) for task in plan.tasks.values() if task.children
        }
        self._unmet = {task.id: len(unmet(plan, task)) for task in plan.tasks.values()}
        self._dependents: defaultdict[TaskId, list[TaskId]] = defaultdict(list)
        for task in plan.tasks.values():
            for dep in task.deps:
                self._dependents[dep].append(task.id)
        self._order = [task for _, task in plan.walk()]
        self._places = {task.id: place for place, task in enumerate(self._order)}
        self._ready = [place for place, task in enumerate(self._order) if is_ready(plan, task)]

    def take_ready(self) -> Task | None:
        """Give the first ready leaf in plan order, each once; None when there is none."""
        return self._order[heapq.heappop(self._ready)] if self._ready else None

    def finish(self, leaf: Task) -> tuple[Task, ...]:
        """Let a leaf be ``done``; gives the parents that are with it, nearest first."""
        parents: list[Task] = []
        task: Task | None = leaf
        while task is not None:
            self._note_done(task)
            task = self._completed_parent(task)
            if task is not None:
                parents.append(task)
        return tuple(parents)

    def _note_done(self, task: Task) -> None:
        self._done.add(task.id)
        for name in self._dependents[task.id]:
            self._unmet[name] -= 1
            dependent = self._plan.tasks[name]
            if not self._unmet[name] and dependent.is_leaf and dependent.status == Status.TODO:
                heapq.heappush(self._ready, self._places[name])

    def _completed_parent(self, task: Task) -> Task | None:
        """Give the parent that is ``done`` now and was not before."""
        if task.parent is None:
            return None
        if not task.is_over:
            self._open_children[task.parent] -= 1
        is_new = not self._open_children[task.parent] and task.parent not in self._done
        return self._plan.tasks[task.parent] if is_new else None
