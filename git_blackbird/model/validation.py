"""What makes a plan valid: every fault in one go, in a stable order, each with its place and its mend."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from git_blackbird.model.graph import find_cycle
from git_blackbird.model.ids import TASK_ID_RULE, TaskId, folding_clashes, task_id_fault
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.timestamps import is_timestamp, parse_timestamp


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong in a plan file: where (a JSON path), what, and how to mend it."""

    place: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what} ({self.fix})"


def item_place(task_id: str) -> str:
    """Give the JSON path of one item."""
    quoted = task_id.encode("unicode_escape", "backslashreplace").decode("ascii").replace('"', '\\"')
    return f'$.items["{quoted}"]'


def plan_faults(plan: Plan, known: Collection[str]) -> list[Fault]:
    """Find what is wrong between and inside the tasks of ``plan``.

    ``known`` holds every id of the file, also of items whose own shape is wrong and which are not in
    ``plan``: pointing at those is no further fault.
    """
    faults: list[Fault] = []
    for task_id in sorted(plan.tasks):
        task = plan.tasks[task_id]
        faults.extend(_own_faults(task))
        faults.extend(_dep_faults(task, known))
        faults.extend(_tree_faults(task, plan, known))
    faults.extend(_clash_faults(known))
    faults.extend(_cycle_faults(plan))
    return faults


def _own_faults(task: Task) -> Iterator[Fault]:
    place = item_place(task.id)
    if not task.title.strip():
        yield Fault(f"{place}.title", "is empty", "give the task a title")
    stamps = {"createdAt": task.created_at, "updatedAt": task.updated_at}
    wrong = [name for name, text in stamps.items() if not is_timestamp(text)]
    for name in wrong:
        yield Fault(f"{place}.{name}", "is not an RFC 3339 time", "write it like 2026-01-02T03:04:05Z")
    if not wrong and parse_timestamp(task.updated_at) < parse_timestamp(task.created_at):
        yield Fault(f"{place}.updatedAt", "is before createdAt", "make it the same or later")


def _dep_faults(task: Task, known: Collection[str]) -> Iterator[Fault]:
    place = item_place(task.id)
    for index, dep in enumerate(task.deps):
        where = f"{place}.deps[{index}]"
        if dep == task.id:
            yield Fault(where, f'cannot add self-dependency: "{dep}"', "remove it")
        elif dep not in known:
            yield Fault(where, f'unknown dep id "{dep}"', "name a task of this plan or remove it")
        elif dep in task.deps[:index]:
            yield Fault(where, f'dep id "{dep}" stands twice', "keep one")
    for dep, _ in task.dep_rationale:
        if dep not in task.deps:
            where = f'{place}.depRationale["{dep}"]'
            yield Fault(where, f'"{dep}" is not in deps', "add it to deps or remove the rationale")


def _tree_faults(task: Task, plan: Plan, known: Collection[str]) -> Iterator[Fault]:
    place = item_place(task.id)
    parent = task.parent
    if parent is not None and parent not in known:
        yield Fault(f"{place}.parentId", f'unknown parent id "{parent}"', "name a task of this plan or null")
    elif parent is not None and parent in plan.tasks and task.id not in plan.tasks[parent].children:
        what = f'parent "{parent}" does not list "{task.id}" in childIds'
        yield Fault(f"{place}.parentId", what, "make parentId and childIds agree")
    for index, child in enumerate(task.children):
        where = f"{place}.childIds[{index}]"
        if child not in known:
            yield Fault(where, f'unknown child id "{child}"', "name a task of this plan or remove it")
        elif child in plan.tasks and plan.tasks[child].parent != task.id:
            what = f'child "{child}" has another parentId'
            yield Fault(where, what, "make parentId and childIds agree")
        elif child in task.children[:index]:
            yield Fault(where, f'child id "{child}" stands twice', "keep one")


def _clash_faults(known: Collection[str]) -> Iterator[Fault]:
    for kept, task_id in folding_clashes(known):
        what = f'differs from "{kept}" only in letter case or composition'
        yield Fault(item_place(task_id), what, "rename one: some file systems take them for one")


def _cycle_faults(plan: Plan) -> Iterator[Fault]:
    deps = {key: tuple(dep for dep in task.deps if dep != key) for key, task in plan.tasks.items()}
    cycle = find_cycle(deps)
    if cycle is not None:
        what = f"dependency cycle detected: {' -> '.join(cycle)}"
        yield Fault(f"{item_place(cycle[0])}.deps", what, "remove one of these deps")
    parents = {key: (task.parent,) if task.parent else () for key, task in plan.tasks.items()}
    cycle = find_cycle(parents)
    if cycle is not None:
        what = f"hierarchy cycle detected: {' -> '.join(cycle)}"
        yield Fault(f"{item_place(cycle[0])}.parentId", what, "set one of these parentIds to null")


def id_fault(task_id: str) -> Fault | None:
    """Find what is wrong with an id itself; None when it can name files."""
    wrong = task_id_fault(task_id)
    if wrong is None:
        return None
    return Fault(item_place(task_id), f"the task id {wrong}", TASK_ID_RULE)


def key_fault(key: str, own: TaskId) -> Fault | None:
    """Find a key under ``items`` that is not the id of its item."""
    if key == own:
        return None
    return Fault(f"{item_place(key)}.id", f'is "{own}", not its key', "make the key and the id the same")
