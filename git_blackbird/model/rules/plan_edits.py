"""Edit a plan by hand: from a valid plan to a valid plan.

Parents' statuses follow in the same step; records of runs are not considered here.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import format_timestamp, parse_timestamp
from git_blackbird.model.plan.graph import dependents
from git_blackbird.model.plan.plan import Plan, Task, creation_key, new_task, revised
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.reviews import Transition
from git_blackbird.model.rules.status import propagate_to_parents
from git_blackbird.model.rules.task_fields import TaskFields, check_fields, fields_of

_HINTS = {
    "dependency cycle": "remove one of these dependencies first",
    "hierarchy cycle": "a task cannot be below itself",
}


@dataclass(frozen=True)
class TreePosition:
    """The new position of a task: below a parent, or at the top for None.

    ``index`` counts the parent's children, or the tasks at the top, from 0; None is the end, and at the top
    the position by creation.
    """

    parent: TaskId | None
    index: int | None = None


def added(plan: Plan, task: Task, index: int | None, moment: Transition) -> Plan:
    """Return the plan with a new task, below its parent. Raises RequestError."""
    if task.id in plan.tasks:
        raise RequestError(f'there is a task "{task.id}" already')
    check_fields(None, fields_of(task))
    return _settled(
        plan, _placed(plan.replaced(task), task.id, TreePosition(task.parent, index), moment.now), moment
    )


def edited(plan: Plan, task_id: TaskId, wanted: TaskFields, now: str) -> Plan:
    """Return the plan with these fields of a task; the same object if nothing changes.

    Duplicate dependencies count once; reasons for removed dependencies are removed. Raises RequestError.
    """
    task = plan.tasks[task_id]
    check_fields(fields_of(task), wanted)
    after = _with_fields(task, wanted)
    return plan if after == task else _valid(plan.replaced(revised(after, now)))


def _with_fields(task: Task, wanted: TaskFields) -> Task:
    """Return the task with these fields: each dependency once, and reasons for these only."""
    deps = tuple(dict.fromkeys(wanted.deps))
    reasons = {dep: why for dep, why in wanted.dep_rationale.items() if dep in deps}
    return replace(task, **{**asdict(wanted), "deps": deps, "dep_rationale": reasons})


@dataclass(frozen=True)
class WantedTask:
    """What a task is to be; ``status`` is that of a new one, None for an old one, which keeps its own."""

    id: TaskId
    fields: TaskFields
    parent: TaskId | None
    status: Status | None = None


def rewritten(
    plan: Plan,
    wanted: Sequence[WantedTask],
    orders: Mapping[TaskId | None, Sequence[TaskId]],
    doomed: Collection[TaskId],
    moment: Transition,
) -> Plan:
    """Return the plan with these tasks as they are wanted, new ones among them, and without doomed ones.

    All in one step: what lies between need not be valid. ``orders`` has those of children, and for None of
    tasks at the top, that are to change; others come after them. Raises RequestError.
    """
    tasks = dict(plan.tasks)
    for number, one in enumerate(wanted):
        before = tasks.get(one.id)
        check_fields(None if before is None else fields_of(before), one.fields)
        # Tasks at the top are ordered by the times of their creation.
        created = format_timestamp(parse_timestamp(moment.now) + number)
        new = replace(new_task(one.id, one.fields.title, created), status=one.status or Status.TODO)
        after = replace(_with_fields(before or new, one.fields), parent=one.parent)
        if after != before:
            tasks[one.id] = after if before is None else revised(after, moment.now)
    below: dict[TaskId, list[TaskId]] = {}
    for task in plan.tasks.values():
        below.setdefault(task.id, []).extend(
            child for child in task.children if tasks[child].parent == task.id
        )
    for one in wanted:
        if one.parent is not None and one.id not in below.setdefault(one.parent, []):
            below[one.parent].append(one.id)
    for parent, children in below.items():
        ordered = _in_order(children, orders.get(parent, ()))
        if parent in tasks and ordered != tasks[parent].children:
            tasks[parent] = revised(replace(tasks[parent], children=ordered), moment.now)
    after_all = Plan(tasks)
    before_all = tuple(root.id for root in after_all.roots())
    at_top = _in_order(before_all, orders.get(None, ()))
    after_all = _placed_at_top(after_all, at_top, _out_of_order(before_all, at_top), moment.now)
    settled = _settled(plan, after_all, moment)
    return deleted(settled, doomed, moment) if doomed else settled


def _in_order(children: Sequence[TaskId], order: Sequence[TaskId]) -> tuple[TaskId, ...]:
    there, ordered = frozenset(children), frozenset(order)
    first = [task_id for task_id in order if task_id in there]
    return (*first, *(task_id for task_id in children if task_id not in ordered))


def _out_of_order(before: Sequence[TaskId], after: Sequence[TaskId]) -> frozenset[TaskId]:
    """Return the fewest tasks whose move explains the new order."""
    places = {task_id: place for place, task_id in enumerate(before)}
    # Of the rows that rise, by their length: the lowest place at which one ends, and its last task.
    ends: list[int] = []
    tails: list[TaskId] = []
    previous: dict[TaskId, TaskId | None] = {}
    for task_id in after:
        length = bisect_left(ends, places[task_id])
        previous[task_id] = tails[length - 1] if length else None
        ends[length : length + 1], tails[length : length + 1] = [places[task_id]], [task_id]
    kept: set[TaskId] = set()
    last = tails[-1] if tails else None
    while last is not None:
        kept.add(last)
        last = previous[last]
    return frozenset(after) - kept


def moved(plan: Plan, task_id: TaskId, place: TreePosition, moment: Transition) -> Plan:
    """Return the plan with a task and its descendants moved; the same object if nothing changes.

    Raises RequestError, naming the cycle if the position is below the task itself.
    """
    task = plan.tasks[task_id]
    after = _placed(plan, task_id, place, moment.now)
    if after is plan:
        return plan
    if task.parent not in (None, place.parent):
        parent = after.tasks[task.parent]
        after = after.replaced(
            revised(replace(parent, children=_less(parent.children, {task_id})), moment.now)
        )
    return _settled(plan, after, moment)


def _placed(plan: Plan, task_id: TaskId, place: TreePosition, now: str) -> Plan:
    """Put a task below its new parent; the old parent still lists it."""
    task = plan.tasks[task_id]
    after = (
        plan
        if task.parent == place.parent
        else plan.replaced(revised(replace(task, parent=place.parent), now))
    )
    if place.parent is None:
        if place.index is None:
            return after
        others = _less([root.id for root in after.roots()], {task_id})
        return _placed_at_top(after, _inserted(others, task_id, place.index), {task_id}, now)
    parent = after.tasks[place.parent]
    others = _less(parent.children, {task_id})
    children = _inserted(others, task_id, len(others) if place.index is None else place.index)
    return (
        after
        if children == parent.children
        else after.replaced(revised(replace(parent, children=children), now))
    )


def _inserted(others: Sequence[TaskId], task_id: TaskId, index: int) -> tuple[TaskId, ...]:
    if not 0 <= index <= len(others):
        raise RequestError(f"index out of range: {index} (valid: 0..{len(others)})")
    return (*others[:index], task_id, *others[index:])


def _placed_at_top(plan: Plan, wanted: Sequence[TaskId], moved: Collection[TaskId], now: str) -> Plan:
    """Put the tasks at the top into an order, which is that of creation times, by moving these of them."""
    if tuple(root.id for root in plan.roots()) == tuple(wanted):
        return plan
    neighbour = next(plan.tasks[task_id] for task_id in wanted if task_id not in moved)
    beside: list[Task] = []
    for task_id in wanted:
        if task_id in moved:
            beside.append(replace(plan.tasks[task_id], created_at=neighbour.created_at))
        else:
            neighbour = plan.tasks[task_id]
    try:
        return plan.replaced(*_created_in_order(plan.replaced(*beside), wanted, moved, now))
    except OverflowError:
        raise RequestError(f"{neighbour.id} was created at the end of time: nothing comes after it") from None


def _created_in_order(
    plan: Plan, wanted: Sequence[TaskId], moved: Collection[TaskId], now: str
) -> Iterator[Task]:
    """Yield the moved tasks, and later ones whose creation time is increased to get the order."""
    before = (-(2**63), TaskId(""))
    for task in (plan.tasks[task_id] for task_id in wanted):
        key = creation_key(task)
        if key <= before:
            key = (before[0] + (task.id <= before[1]), task.id)
            yield revised(replace(task, created_at=format_timestamp(key[0])), now)
        elif task.id in moved:
            yield revised(task, now)
        before = key


def _less(ids: Collection[TaskId], doomed: Collection[TaskId]) -> tuple[TaskId, ...]:
    return tuple(task_id for task_id in ids if task_id not in doomed)


def deleted(plan: Plan, doomed: Collection[TaskId], moment: Transition) -> Plan:
    """Return the plan without these tasks, and without dependencies on them.

    ``doomed`` must include all descendants.
    """
    tasks: dict[TaskId, Task] = {}
    for task in plan.tasks.values():
        if task.id not in doomed:
            deps, children = _less(task.deps, doomed), _less(task.children, doomed)
            if deps != task.deps:
                task = _with_fields(task, replace(fields_of(task), deps=deps))  # noqa: PLW2901
            is_same = task is plan.tasks[task.id] and children == task.children
            tasks[task.id] = task if is_same else revised(replace(task, children=children), moment.now)
    return _settled(plan, Plan(tasks), moment)


def renamed(plan: Plan, task_id: TaskId, new_id: TaskId, now: str) -> Plan:
    """Return the plan with a task of another id, also in what names it. Raises RequestError."""
    names = {task_id: new_id}

    def name(one: TaskId) -> TaskId:
        return names.get(one, one)

    def changed(task: Task) -> Task:
        after = replace(
            task,
            id=name(task.id),
            parent=None if task.parent is None else name(task.parent),
            children=tuple(map(name, task.children)),
            deps=tuple(map(name, task.deps)),
            dep_rationale={name(dep): why for dep, why in task.dep_rationale.items()},
        )
        return task if after == task else revised(after, now)

    return _valid(Plan({name(task.id): changed(task) for task in plan.tasks.values()}))


def outside_dependents(plan: Plan, doomed: Collection[TaskId]) -> Mapping[TaskId, tuple[TaskId, ...]]:
    """Return, for each of these tasks, the other tasks that depend on it; smallest id first."""
    outside = {
        task_id: _less([dependent.id for dependent in dependents(plan, task_id)], doomed)
        for task_id in sorted(doomed)
    }
    return {task_id: others for task_id, others in outside.items() if others}


def _settled(before: Plan, after: Plan, moment: Transition) -> Plan:
    return propagate_to_parents(before, _valid(after), moment)


def _valid(plan: Plan) -> Plan:
    faults = plan_faults(plan, plan.tasks.keys())
    if faults:
        hints = [
            hint for what, hint in _HINTS.items() if any(fault.what.startswith(what) for fault in faults)
        ]
        raise RequestError(
            "; ".join(fault.what for fault in faults), hint="; ".join(["nothing was changed", *hints])
        )
    return plan
