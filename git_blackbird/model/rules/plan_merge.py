"""Merge two plans that began as one: by task and by field."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.task_fields import FIELD_NAMES


class Sides(NamedTuple):
    """A value in the ancestor, in our plan and in theirs; None where it is missing."""

    base: Any
    ours: Any
    theirs: Any


class PlanMerge(NamedTuple):
    """The merged plan; where both sides changed one thing differently, as each side has it.

    Without ``conflicts`` the three are the same. They name a task and what of it, as the file does.
    """

    base: Plan
    ours: Plan
    theirs: Plan
    conflicts: tuple[str, ...]


# Of two statuses that both sides set, the one of which more has happened.
_RANKS = {
    status: rank
    for rank, status in enumerate(
        (
            Status.TODO,
            Status.BLOCKED,
            Status.QUEUED,
            Status.IN_PROGRESS,
            Status.WAITING_USER,
            Status.FAILED,
            Status.SKIPPED,
            Status.DONE,
        )
    )
}


def merge_plans(base: Plan, ours: Plan, theirs: Plan) -> PlanMerge:
    """Merge what two sides made of a plan. Tasks, fields, dependencies and criteria are kept of both."""
    return _PlanMerge(base, ours, theirs).merge()


class _PlanMerge:
    def __init__(self, base: Plan, ours: Plan, theirs: Plan) -> None:
        self._plans = (base, ours, theirs)
        self._conflicts: list[str] = []
        self._merged: tuple[dict[TaskId, Task], ...] = ({}, {}, {})

    def merge(self) -> PlanMerge:
        for task_id in dict.fromkeys(task_id for plan in self._plans for task_id in plan.tasks):
            sides = Sides(*(plan.tasks.get(task_id) for plan in self._plans))
            for tasks, task in zip(self._merged, self._task(task_id, sides), strict=True):
                if task is not None:
                    tasks[task_id] = task
        base, ours, theirs = (Plan(linked(tasks)) for tasks in self._merged)
        return PlanMerge(base, ours, theirs, tuple(self._conflicts))

    def _task(self, task_id: TaskId, sides: Sides) -> Sides:
        base, ours, theirs = sides
        if ours == theirs:
            return Sides(ours, ours, ours)
        if ours is not None and theirs is not None:
            return self._fields(task_id, sides)
        left, its_plan = (theirs, self._plans[2]) if ours is None else (ours, self._plans[1])
        if base is None:
            return Sides(left, left, left)
        if left == base and not self._is_needed(task_id, its_plan):
            return Sides(None, None, None)
        self._conflicts.append(f"{task_id}: deleted on one side, and changed or needed on the other")
        return sides

    def _is_needed(self, task_id: TaskId, side: Plan) -> bool:
        known = self._plans[0].tasks
        return any(
            (task_id in task.deps and (task.id not in known or task_id not in known[task.id].deps))
            or (task.parent == task_id and (task.id not in known or known[task.id].parent != task_id))
            for task in side.tasks.values()
        )

    def _fields(self, task_id: TaskId, sides: Sides) -> Sides:
        found: tuple[dict[str, Any], ...] = ({}, {}, {})
        for name in (one.name for one in fields(Task)):
            # Of a task that both sides made, nothing was there before.
            values = Sides(*(None if side is None else getattr(side, name) for side in sides))
            merged = _value(values, _RULES.get(name))
            if merged.ours != merged.theirs:
                self._conflicts.append(f"{task_id}: {FIELD_NAMES.get(name, name)}")
            if sides.base is None:
                merged = merged._replace(base=merged.ours)
            for side, value in zip(found, merged, strict=True):
                side[name] = value
        return Sides(*(replace(sides.ours, **values) for values in found))


def linked(tasks: Mapping[TaskId, Task]) -> dict[TaskId, Task]:
    """Return the tasks with children as their parents say, and without what is no longer there."""
    below: dict[TaskId, dict[TaskId, None]] = {task_id: {} for task_id in tasks}
    for parent in tasks.values():
        listed = (child for child in parent.children if child in tasks)
        below[parent.id].update((child, None) for child in listed if tasks[child].parent == parent.id)
    for task in tasks.values():
        if task.parent in below:
            below[task.parent][task.id] = None
    return {
        task_id: replace(
            task,
            parent=task.parent if task.parent in tasks else None,
            children=tuple(below[task_id]),
            deps=tuple(dep for dep in task.deps if dep in tasks),
            dep_rationale={dep: why for dep, why in task.dep_rationale.items() if dep in tasks},
        )
        for task_id, task in tasks.items()
    }


def _merged_list(sides: Sides) -> tuple[Any, ...] | None:
    """Keep what both sides added, each behind what it came after, and drop what either removed."""
    base, ours, theirs = (tuple(side or ()) for side in sides)
    if any(len(set(side)) < len(side) for side in (base, ours, theirs)):
        return None
    removed = set(base) - (set(ours) & set(theirs))
    merged = [one for one in ours if one not in removed]
    for place, one in enumerate(theirs):
        if one not in removed and one not in merged:
            before = [merged.index(other) for other in theirs[:place] if other in merged]
            merged.insert(max(before, default=-1) + 1, one)
    return tuple(merged)


def _merged_reasons(sides: Sides) -> dict[TaskId, str] | None:
    base, ours, theirs = (side or {} for side in sides)
    merged: dict[TaskId, str] = {}
    for name in dict.fromkeys((*ours, *theirs)):
        reasons = _value(Sides(base.get(name), ours.get(name), theirs.get(name)), None)
        if reasons.ours != reasons.theirs:
            return None
        if reasons.ours is not None:
            merged[name] = reasons.ours
    return merged


def _later(sides: Sides) -> str:
    return str(max(sides.ours, sides.theirs, key=lambda text: (parse_timestamp(text), text)))


_RULES: Mapping[str, Callable[[Sides], Any]] = {
    "acceptance_criteria": _merged_list,
    "children": _merged_list,
    "deps": _merged_list,
    "dep_rationale": _merged_reasons,
    "status": lambda sides: max(sides.ours, sides.theirs, key=_RANKS.__getitem__),
    "created_at": _later,
    "updated_at": _later,
}


def _value(sides: Sides, both_changed: Callable[[Sides], Any] | None) -> Sides:
    base, ours, theirs = sides
    if theirs in (ours, base):
        return Sides(ours, ours, ours)
    if ours == base:
        return Sides(theirs, theirs, theirs)
    merged = None if both_changed is None else both_changed(sides)
    return sides if merged is None else Sides(merged, merged, merged)
