"""Changing a plan by hand: a valid plan in, a valid plan out (PEER.md 2, ``edit move delete deps``).

Parents follow in the same step; what a task's own runs say of it is not known here.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from git_blackbird.errors import RequestError
from git_blackbird.model.gate import Moment
from git_blackbird.model.graph import dependents
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Task, creation_key, revised
from git_blackbird.model.status import follow_children
from git_blackbird.model.task_fields import TaskFields, check_fields, differing, fields_of
from git_blackbird.model.timestamps import format_timestamp
from git_blackbird.model.validation import plan_faults

_WAYS_OUT = {
    "dependency cycle": "remove one of these dependencies first",
    "hierarchy cycle": "a task cannot stand below itself",
}


@dataclass(frozen=True)
class Place:
    """Where a task is to stand: below a parent, or at the top where that is None.

    ``index`` counts the parent's children, or the tasks at the top, from 0; None is the end, and at the top
    where its creation puts it.
    """

    parent: TaskId | None
    index: int | None = None


def added(plan: Plan, task: Task, index: int | None, moment: Moment) -> Plan:
    """Give the plan with a new task, below the parent that it names.

    Raises RequestError.
    """
    if task.id in plan.tasks:
        raise RequestError(f'there is a task "{task.id}" already')
    check_fields(None, fields_of(task))
    return _settled(
        plan, _placed(plan.replaced(task), task.id, Place(task.parent, index), moment.now), moment
    )


def edited(plan: Plan, task_id: TaskId, wanted: TaskFields, now: str) -> Plan:
    """Give the plan with these fields of a task; the same value when they are what they were.

    A dependency named twice counts once; reasons for dependencies that are gone go with them. Raises
    RequestError.
    """
    task = plan.tasks[task_id]
    before = fields_of(task)
    check_fields(before, wanted)
    values = {name: getattr(wanted, name) for name in differing(before, wanted)}
    if "deps" in values:
        values |= _linked(task, wanted.deps)
    if all(getattr(task, name) == value for name, value in values.items()):
        return plan
    return _valid(plan.replaced(revised(task, now, **values)))


def _linked(task: Task, deps: Collection[TaskId]) -> dict[str, object]:
    """Give the fields that name dependencies, for these."""
    rationale = tuple((dep, reason) for dep, reason in task.dep_rationale if dep in deps)
    return {"deps": tuple(dict.fromkeys(deps)), "dep_rationale": rationale}


def moved(plan: Plan, task_id: TaskId, place: Place, moment: Moment) -> Plan:
    """Give the plan with a task, and all below it, at another place; the same value when it stands there.

    Raises RequestError, naming the circle when the place is below the task itself.
    """
    task = plan.tasks[task_id]
    after = _placed(plan, task_id, place, moment.now)
    if after is plan:
        return plan
    if task.parent not in (None, place.parent):
        parent = after.tasks[task.parent]
        after = after.replaced(revised(parent, moment.now, children=_less(parent.children, {task_id})))
    return _settled(plan, after, moment)


def _placed(plan: Plan, task_id: TaskId, place: Place, now: str) -> Plan:
    """Put a task below its new parent; the old one still names it."""
    task = plan.tasks[task_id]
    after = plan if task.parent == place.parent else plan.replaced(revised(task, now, parent=place.parent))
    if place.parent is None:
        return after if place.index is None else _placed_at_top(after, task_id, place.index, now)
    parent = after.tasks[place.parent]
    others = _less(parent.children, {task_id})
    children = _inserted(others, task_id, len(others) if place.index is None else place.index)
    return after if children == parent.children else after.replaced(revised(parent, now, children=children))


def _inserted(others: Sequence[TaskId], task_id: TaskId, index: int) -> tuple[TaskId, ...]:
    if not 0 <= index <= len(others):
        raise RequestError(f"index out of range: {index} (valid: 0..{len(others)})")
    return (*others[:index], task_id, *others[index:])


def _placed_at_top(plan: Plan, task_id: TaskId, index: int, now: str) -> Plan:
    """Put a task at a place at the top, where nothing but the times of creation keeps an order."""
    before = tuple(root.id for root in plan.roots())
    wanted = _inserted(_less(before, {task_id}), task_id, index)
    if wanted == before:
        return plan
    neighbour = plan.tasks[wanted[index - 1] if index else wanted[1]]
    moved = replace(plan.tasks[task_id], created_at=neighbour.created_at)
    try:
        return plan.replaced(*_created_in_order(plan.replaced(moved), wanted, moved, now))
    except OverflowError:
        raise RequestError(f"{neighbour.id} was created at the end of time: nothing comes after it") from None


def _created_in_order(plan: Plan, wanted: Sequence[TaskId], moved: Task, now: str) -> Iterator[Task]:
    """Yield the moved task, and later ones whose creation is put off so that the order is as wanted."""
    before = (-(2**63), TaskId(""))
    for task in (plan.tasks[task_id] for task_id in wanted):
        key = creation_key(task)
        if key <= before:
            key = (before[0] + (task.id <= before[1]), task.id)
            yield revised(replace(task, created_at=format_timestamp(key[0])), now)
        elif task is moved:
            yield revised(task, now)
        before = key


def _less(ids: Collection[TaskId], doomed: Collection[TaskId]) -> tuple[TaskId, ...]:
    return tuple(one for one in ids if one not in doomed)


def deleted(plan: Plan, doomed: Collection[TaskId], moment: Moment) -> Plan:
    """Give the plan without these tasks, and without dependencies on them.

    ``doomed`` must hold the children of whatever it holds.
    """
    tasks: dict[TaskId, Task] = {}
    for task in plan.tasks.values():
        if task.id not in doomed:
            deps, children = _less(task.deps, doomed), _less(task.children, doomed)
            is_same = deps == task.deps and children == task.children
            tasks[task.id] = (
                task if is_same else revised(task, moment.now, **_linked(task, deps), children=children)
            )
    return _settled(plan, Plan(tasks), moment)


def outside_dependents(plan: Plan, doomed: Collection[TaskId]) -> Mapping[TaskId, tuple[TaskId, ...]]:
    """Give, for each of these tasks that others depend on, which others; smallest id first."""
    found = {
        task_id: _less([one.id for one in dependents(plan, task_id)], doomed) for task_id in sorted(doomed)
    }
    return {task_id: others for task_id, others in found.items() if others}


def _settled(before: Plan, after: Plan, moment: Moment) -> Plan:
    return follow_children(before, _valid(after), moment)


def _valid(plan: Plan) -> Plan:
    faults = plan_faults(plan, plan.tasks.keys())
    if faults:
        ways = [way for what, way in _WAYS_OUT.items() if any(one.what.startswith(what) for one in faults)]
        raise RequestError(
            "; ".join(fault.what for fault in faults), hint="; ".join(["nothing was changed", *ways])
        )
    return plan
