"""Validate a plan: return every error at once, in a stable order, with place and fix."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Annotated, NamedTuple

from git_blackbird.model.base.ids import TASK_ID_RULE, TaskId, case_conflicts, task_id_fault
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.plan.graph import find_cycle
from git_blackbird.model.plan.plan import Plan, Task


class PlanError(NamedTuple):
    """One error in the plan file."""

    place: Annotated[str, Shown("Where it is, as a JSON path.")]
    what: Annotated[str, Shown("What is wrong.")]
    fix: Annotated[str, Shown("How to correct it.")]

    def __str__(self) -> str:
        return f"{self.place}: {self.what} ({self.fix})"


def item_place(task_id: str) -> str:
    return f"$.items[{quoted(task_id)}]"


def plan_faults(plan: Plan, known: Collection[str]) -> list[PlanError]:
    """Find the errors between and inside the tasks of ``plan``.

    ``known`` holds every id of the file, including invalid items that are not in ``plan``: links to those are
    no additional errors.
    """
    faults: list[PlanError] = []
    links = {(key, child) for key, task in plan.tasks.items() for child in task.children}
    for task_id in sorted(plan.tasks):
        task = plan.tasks[task_id]
        if task.id != task_id:
            what = f"is {quoted(task.id)}, not its key"
            faults.append(PlanError(f"{item_place(task_id)}.id", what, "make the key and the id the same"))
            task = replace(task, id=task_id)
        faults.extend(_own_faults(task))
        if task.deps or task.dep_rationale:
            faults.extend(_dep_faults(task, known))
        if task.parent is not None and (task.parent, task_id) not in links:
            faults.extend(_parent_faults(task, task.parent, plan, known))
        if task.children:
            faults.extend(_child_faults(task, plan, known))
    wrong_ids = ((name, wrong) for name in sorted(known) if (wrong := task_id_fault(name)))
    faults += [PlanError(item_place(name), f"the task id {wrong}", TASK_ID_RULE) for name, wrong in wrong_ids]
    for first, name in case_conflicts(known):
        what = f"differs from {quoted(first)} only in letter case or composition"
        fix = "rename one: some file systems treat them as one"
        faults.append(PlanError(item_place(name), what, fix))
    faults.extend(_cycle_faults(plan))
    return faults


def _fault(task: Task, field: str, what: str, fix: str) -> PlanError:
    return PlanError(f"{item_place(task.id)}.{field}", what, fix)


def _own_faults(task: Task) -> Iterator[PlanError]:
    if not task.title:
        yield _fault(task, "title", "is empty", "give the task a title")
    created = _moment(task.created_at)
    updated = created if task.updated_at == task.created_at else _moment(task.updated_at)
    for name, moment in (("createdAt", created), ("updatedAt", updated)):
        if moment is None:
            yield _fault(task, name, "is not an RFC 3339 time", "write it like 2026-01-02T03:04:05Z")
    if created is not None and updated is not None and updated < created:
        yield _fault(task, "updatedAt", "is before createdAt", "make it the same or later")


def _moment(text: str) -> int | None:
    try:
        return parse_timestamp(text)
    except ValueError:
        return None


def _dep_faults(task: Task, known: Collection[str]) -> Iterator[PlanError]:
    seen: set[str] = set()
    for index, dep in enumerate(task.deps):
        if dep == task.id:
            yield _fault(task, f"deps[{index}]", f"cannot add self-dependency: {quoted(dep)}", "remove it")
        elif dep not in known:
            what = f"unknown dep id {quoted(dep)}"
            yield _fault(task, f"deps[{index}]", what, "name a task of this plan or remove it")
        elif dep in seen:
            yield _fault(task, f"deps[{index}]", f"dep id {quoted(dep)} appears twice", "keep one")
        seen.add(dep)
    for dep in task.dep_rationale:
        if dep not in seen:
            what = f"{quoted(dep)} is not in deps"
            yield _fault(task, f"depRationale[{quoted(dep)}]", what, "add it to deps or remove the rationale")


_AGREE = "make parentId and childIds agree"


def _parent_faults(task: Task, parent: TaskId, plan: Plan, known: Collection[str]) -> Iterator[PlanError]:
    if parent not in known:
        what = f"unknown parent id {quoted(parent)}"
        yield _fault(task, "parentId", what, "name a task of this plan or null")
    elif parent in plan.tasks:
        what = f"parent {quoted(parent)} does not list {quoted(task.id)} in childIds"
        yield _fault(task, "parentId", what, _AGREE)


def _child_faults(task: Task, plan: Plan, known: Collection[str]) -> Iterator[PlanError]:
    seen: set[str] = set()
    for index, child in enumerate(task.children):
        field = f"childIds[{index}]"
        if child not in known:
            what = f"unknown child id {quoted(child)}"
            yield _fault(task, field, what, "name a task of this plan or remove it")
        elif child in plan.tasks and plan.tasks[child].parent != task.id:
            yield _fault(task, field, f"child {quoted(child)} has another parentId", _AGREE)
        elif child in seen:
            yield _fault(task, field, f"child id {quoted(child)} appears twice", "keep one")
        seen.add(child)


def _bare(task_id: str) -> str:
    return quoted(task_id)[1:-1]


def _cycle_faults(plan: Plan) -> Iterator[PlanError]:
    deps = {
        key: tuple(dep for dep in task.deps if dep != key) if key in task.deps else task.deps
        for key, task in plan.tasks.items()
    }
    cycle = find_cycle(deps)
    if cycle is not None:
        what = f"dependency cycle detected: {' -> '.join(map(_bare, cycle))}"
        yield PlanError(f"{item_place(cycle[0])}.deps", what, "remove one of these deps")
    parents = {key: () if task.parent is None else (task.parent,) for key, task in plan.tasks.items()}
    cycle = find_cycle(parents)
    if cycle is not None:
        what = f"hierarchy cycle detected: {' -> '.join(map(_bare, cycle))}"
        yield PlanError(f"{item_place(cycle[0])}.parentId", what, "set one of these parentIds to null")
