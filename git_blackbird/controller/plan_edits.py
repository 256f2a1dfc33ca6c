"""Changing the plan by hand: a start, and adding tasks."""

from dataclasses import dataclass, replace

from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import task_command
from git_blackbird.model.graph import ancestors
from git_blackbird.model.ids import TASK_ID_RULE, TaskId, fold_task_id, task_id_fault
from git_blackbird.model.plan import Plan, Status, Task, with_status
from git_blackbird.model.validation import Fault, plan_faults
from git_blackbird.storage.plan_format import InvalidPlanError
from git_blackbird.storage.store import BROKEN_BY_AGENT, Transaction

_IN_HAND = frozenset({Status.IN_PROGRESS, Status.WAITING_USER})


@dataclass(frozen=True)
class NewTask:
    """What ``add`` is told; without an id one is made."""

    title: str
    id: str | None = None
    description: str = ""
    prompt: str = ""
    notes: str | None = None
    acceptance_criteria: tuple[str, ...] = ()
    parent: str | None = None
    index: int | None = None
    deps: tuple[str, ...] = ()


def init_plan(workspace: Workspace) -> bool:
    """Make an empty plan where there is none; gives whether one was made.

    Raises SaveError, or RequestError where an agent has just removed one.
    """
    with workspace.store.transaction() as transaction:
        if workspace.store.plan_bytes() is not None:
            return False
        if transaction.known_plan() is not None:
            raise RequestError(f"the plan file is gone: {workspace.layout.plan}", hint=BROKEN_BY_AGENT)
        transaction.save_plan(Plan())
        return True


def add_task(workspace: Workspace, new: NewTask) -> Task:
    """Add one task to the plan as it is under the lock, so that concurrent writers never lose one.

    Raises RequestError naming what is wrong with it.
    """
    with workspace.store.transaction() as transaction:
        plan = transaction.plan()
        now = workspace.world.timestamp()
        task = _build(workspace, plan, new, now)
        _refuse_work_in_hand(transaction, plan, task)
        after = _placed(plan, task, new.index, now)
        faults = plan_faults(after, after.tasks.keys())
        if faults:
            raise RequestError("; ".join(fault.what for fault in faults), hint="nothing was added")
        transaction.save_plan(after)
        return task


def _build(workspace: Workspace, plan: Plan, new: NewTask, now: str) -> Task:
    task_id = new.id if new.id is not None else f"w_{workspace.world.random_bits(48):012x}"
    fault = task_id_fault(task_id)
    if fault is not None:
        raise RequestError(f"the id {task_id!a} {fault}", hint=TASK_ID_RULE)
    if fold_task_id(task_id) in map(fold_task_id, plan.tasks):
        raise RequestError(f'there is a task "{task_id}" already, perhaps in other letter case')
    if not all(text.strip() for text in new.acceptance_criteria):
        raise RequestError("an acceptance criterion is empty", hint="--ac TEXT")
    if not new.title.strip():
        raise RequestError("a task needs a title", hint="--title TEXT")
    parent = None if new.parent is None else find_task(plan, new.parent).id
    return Task(
        id=TaskId(task_id),
        title=new.title,
        created_at=now,
        updated_at=now,
        description=new.description,
        acceptance_criteria=new.acceptance_criteria,
        prompt=new.prompt,
        parent=parent,
        deps=tuple(find_task(plan, dep).id for dep in dict.fromkeys(new.deps)),
        notes=new.notes,
    )


def _refuse_work_in_hand(transaction: Transaction, plan: Plan, task: Task) -> None:
    """Only leaves are executed: what an agent or a person has in hand must not become a parent."""
    parent = None if task.parent is None else plan.tasks[task.parent]
    if parent is None or not parent.is_leaf or parent.status not in _IN_HAND:
        return
    if transaction.history(parent.id).own:
        raise RequestError(
            f"{parent.id} is {parent.status}, and a parent is not executed: nothing was added",
            hint=f"finish it first, or give it up: {task_command('retry', parent.id)}",
        )


def _placed(plan: Plan, task: Task, index: int | None, now: str) -> Plan:
    if task.parent is None:
        if index is not None:
            raise RequestError("--index is a place among a parent's children", hint="--parent ID")
        return plan.replaced(task)
    parent = plan.tasks[task.parent]
    place = len(parent.children) if index is None else index
    if not 0 <= place <= len(parent.children):
        raise RequestError(f"index out of range: {index} (valid: 0..{len(parent.children)})")
    children = (*parent.children[:place], task.id, *parent.children[place:])
    grown = plan.replaced(task, replace(parent, children=children, updated_at=now))
    return _reopened(grown, task, now)


def _reopened(plan: Plan, task: Task, now: str) -> Plan:
    """A parent with new work below it is no longer done, nor are those above it."""
    done = [above for above in ancestors(plan, task) if above.status == Status.DONE]
    return plan.replaced(*(with_status(above, Status.IN_PROGRESS, now) for above in done))


def plan_file_faults(workspace: Workspace) -> list[Fault]:
    """Give every fault of the plan file, none when it is valid.

    Raises UnusableError when there is no plan file.
    """
    try:
        workspace.store.plan()
    except InvalidPlanError as error:
        return error.faults
    return []
