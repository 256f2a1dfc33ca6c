"""Which tasks of the plan are listed."""

from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import NONE_STOPPED, is_ready, state_label
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState, is_stopped


def stopped_tasks(state: PlanState) -> frozenset[TaskId]:
    """Return the ready tasks stopped by an unusable record, of their own or of a dependency."""
    if not state.unreadable:
        return NONE_STOPPED
    leaves = state.plan.leaves()
    return frozenset(task.id for task in leaves if is_ready(state.plan, task) and is_stopped(state, task))


class Filter(NamedTuple):
    """Which tasks ``list`` shows; ``text`` is to be in the id or title, in any letter case."""

    everything: bool = False
    only_ready: bool = False
    only_blocked: bool = False
    status: Status | None = None
    text: str = ""
    stopped: frozenset[TaskId] = NONE_STOPPED

    def admits(self, plan: Plan, task: Task) -> bool:
        if self.text and self.text.casefold() not in f"{task.id} {task.title}".casefold():
            return False
        if self.status is not None:
            return task.status == self.status
        if self.only_ready:
            return state_label(plan, task, self.stopped) == "READY"
        if self.only_blocked:
            return task.is_leaf and state_label(plan, task, self.stopped) == "BLOCKED"
        return self.everything or (task.is_leaf and not task.is_over)


def tree_of_tasks(plan: Plan, wanted: Filter) -> list[tuple[int, Task]]:
    """Return the tasks of a tree with their depth; parents of what is shown are shown too."""
    rows = list(plan.walk())
    if wanted._replace(stopped=NONE_STOPPED) == Filter(everything=True):
        return rows
    shown = {task.id for _, task in rows if wanted.admits(plan, task)}
    for _, task in reversed(rows):
        if task.parent is not None and task.id in shown:
            shown.add(task.parent)
    return rows if len(shown) == len(rows) else [(depth, task) for depth, task in rows if task.id in shown]
