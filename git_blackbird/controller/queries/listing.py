"""Which tasks of the plan are listed."""

from typing import NamedTuple

from git_blackbird.model.change.stages import is_taken_back
from git_blackbird.model.plan.graph import NO_LABELS, Labels, is_ready, state_label
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState, is_stopped


def label_by_records(state: PlanState, task: Task) -> str | None:
    """Return the label of a task that its change was taken back of, or that an unusable record stops."""
    if is_taken_back(task.status, state.history(task.id).latest):
        return "TAKEN_BACK"
    is_blocked = state.unreadable and is_ready(state.plan, task) and is_stopped(state, task)
    return "BLOCKED" if is_blocked else None


def labels_by_records(state: PlanState) -> Labels:
    labels = ((task.id, label_by_records(state, task)) for task in state.plan.leaves())
    return {task_id: label for task_id, label in labels if label is not None}


class Filter(NamedTuple):
    """Which tasks ``list`` shows; ``text`` is to be in the id or title, in any letter case."""

    everything: bool = False
    only_ready: bool = False
    only_blocked: bool = False
    status: Status | None = None
    text: str = ""
    labels: Labels = NO_LABELS

    def admits(self, plan: Plan, task: Task) -> bool:
        if self.text and self.text.casefold() not in f"{task.id} {task.title}".casefold():
            return False
        if self.status is not None:
            return task.status == self.status
        if self.only_ready:
            return state_label(plan, task, self.labels) == "READY"
        if self.only_blocked:
            return task.is_leaf and state_label(plan, task, self.labels) == "BLOCKED"
        return self.everything or (task.is_leaf and not task.is_over)


def tree_of_tasks(plan: Plan, wanted: Filter) -> list[tuple[int, Task]]:
    """Return the tasks of a tree with their depth; parents of what is shown are shown too."""
    rows = list(plan.walk())
    if wanted._replace(labels=NO_LABELS) == Filter(everything=True):
        return rows
    shown = {task.id for _, task in rows if wanted.admits(plan, task)}
    for _, task in reversed(rows):
        if task.parent is not None and task.id in shown:
            shown.add(task.parent)
    return rows if len(shown) == len(rows) else [(depth, task) for depth, task in rows if task.id in shown]
