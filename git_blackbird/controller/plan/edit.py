"""Changing the plan by hand: begin, add, edit, move, delete, and check the file.

Every change is one transaction: the plan is read again under the store lock, so that nobody's is lost.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from git_blackbird.controller.core.guards import require_not_busy, require_not_busy_task
from git_blackbird.controller.core.status_sync import save_plan
from git_blackbird.controller.core.workspace import Workspace, find_task, full_id
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import (
    TASK_ID_RULE,
    TaskId,
    fold_task_id,
    task_id_fault,
    task_id_from,
)
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.graph import find_new_deadlock, started_dependents
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import PlanError
from git_blackbird.model.rules.plan_edits import TreePosition, added, edited, moved, renamed
from git_blackbird.model.rules.reviews import Transition
from git_blackbird.model.rules.task_fields import FieldsChange, TaskFields, changed_fields, fields_of
from git_blackbird.storage.config_files import with_key
from git_blackbird.storage.files import write_atomic
from git_blackbird.storage.plan_file import InvalidPlanError
from git_blackbird.storage.store import BROKEN_BY_AGENT, Transaction


@dataclass(frozen=True)
class NewTask:
    """The options of ``add``; without an id one is generated."""

    title: str
    id: str | None = None
    description: str = ""
    prompt: str = ""
    notes: str | None = None
    acceptance_criteria: tuple[str, ...] = ()
    parent: str | None = None
    index: int | None = None
    deps: tuple[str, ...] = ()
    agent: str | None = None
    model: str | None = None


def init_plan(workspace: Workspace) -> bool:
    """Make an empty plan where there is none; return whether one was made.

    Raises SaveError, or RequestError where an agent has just removed one.
    """
    with workspace.transaction() as transaction:
        if workspace.store.plan_bytes() is not None:
            return False
        if workspace.store.backup.exists:
            raise RequestError(f"the plan file is gone: {workspace.paths.plan}", hint=BROKEN_BY_AGENT)
        transaction.save_plan(Plan())
        return True


def init_config(workspace: Workspace) -> Path | None:
    """Have a new project stop after each task; return the file that says so, None where there was one."""
    path = workspace.paths.config
    with workspace.transaction():
        if os.path.lexists(path) or workspace.environment.is_agent:
            return None
        stops = with_key(path, "execution.stopAfterEachTask", value=True, top=workspace.paths.state_root)
        write_atomic(workspace.paths, path, stops)
        return path


def add_task(workspace: Workspace, new: NewTask) -> Task:
    """Add one task to the plan as it is under the lock.

    Raises RequestError naming what is wrong with it.
    """
    with workspace.transaction() as transaction:
        state = transaction.state()
        plan, moment = state.plan, workspace.transition(state.histories)
        taken = {fold_task_id(task_id) for task_id in plan.tasks}
        task_id = new.id if new.id is not None else task_id_from(new.title, taken)
        require_id(task_id, plan.tasks)
        task = replace(
            new_task(TaskId(task_id), new.title, moment.now),
            description=new.description,
            acceptance_criteria=new.acceptance_criteria,
            prompt=new.prompt,
            parent=None if new.parent is None else named_parent(plan, new.parent),
            deps=tuple(find_task(plan, dep).id for dep in dict.fromkeys(new.deps)),
            notes=new.notes,
            agent=new.agent,
            model=new.model,
        )
        require_no_runs(workspace, task.id)
        require_not_busy_task(workspace, plan, task.parent)
        save_plan(transaction, state, added(plan, task, new.index, moment))
        return task


def require_no_runs(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse the id of a deleted task, whose runs would count for the new one."""
    if workspace.store.records.history(task_id).work_runs:
        raise RequestError(
            f'runs of a deleted task "{task_id}" are still here and would count for the new one',
            hint=Sentence("choose another id; ", TaskCommand("runs", task_id), " shows them"),
        )


def plan_file_faults(workspace: Workspace) -> list[PlanError]:
    """Return every fault of the plan file, none when it is valid.

    Raises UnusableError when there is no plan file.
    """
    try:
        workspace.store.editable_plan()
    except InvalidPlanError as error:
        return error.faults
    return []


@dataclass(frozen=True)
class EditResult:
    """What an edit made of a task's fields.

    ``deadlock`` names tasks, as ``(a, b, a)``, that wait for one another for ever by this edit.
    """

    task_id: TaskId
    before: TaskFields
    after: TaskFields
    deadlock: tuple[TaskId, ...] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        return changed_fields(self.before, self.after)


def edit_task(workspace: Workspace, task_id: str, change: FieldsChange) -> EditResult:
    """Edit a task; ``change`` gets the fields as they are under the lock.

    Raises RequestError, also while an agent works on the task; what ``change`` raises changes nothing.
    """
    workspace.environment.forbid_agents("edit tasks")
    with workspace.transaction() as transaction:
        state = transaction.state_of()
        before = state.plan
        task = find_task(before, task_id)
        require_not_busy(workspace, task)
        wanted = change(fields_of(task))
        for dep in wanted.deps:
            find_task(before, dep)
        after = edited(before, task.id, wanted, workspace.environment.timestamp())
        if after is not before:
            save_plan(transaction, state, after)
        return EditResult(
            task.id, fields_of(task), fields_of(after.tasks[task.id]), find_new_deadlock(before, after)
        )


def rename_task(workspace: Workspace, task_id: str, new_id: str) -> TaskId:
    """Change the id of a task without runs, and every mention of it; return the old id.

    Raises RequestError, also while an agent works on the task.
    """
    workspace.environment.forbid_agents("rename tasks")
    with workspace.transaction() as transaction:
        state = transaction.state()
        task = find_task(state.plan, task_id)
        if workspace.store.records.history(task.id).runs or task.id in state.feedback:
            raise RequestError(
                f"{task.id} has runs, which are kept by its id: it cannot be renamed",
                hint=TaskCommand("edit", task.id, remark="changes its title"),
            )
        require_id(new_id, state.plan.tasks.keys() - {task.id})
        require_no_runs(workspace, TaskId(new_id))
        save_plan(
            transaction,
            state,
            renamed(state.plan, task.id, TaskId(new_id), workspace.environment.timestamp()),
        )
        return task.id


def require_id(task_id: str, others: Collection[str]) -> None:
    """Refuse an id that is none, or that file systems would take for one of the others."""
    if (fault := task_id_fault(task_id)) is not None:
        raise RequestError(f"the id {task_id!a} {fault}", hint=TASK_ID_RULE)
    if fold_task_id(task_id) in map(fold_task_id, others):
        raise RequestError(f'a task "{task_id}" already exists (ids are compared without case)')


def add_deps(workspace: Workspace, task_id: str, deps: Sequence[str]) -> EditResult:
    """Add dependencies to those of a task. Raises RequestError."""
    return edit_task(workspace, task_id, lambda now: replace(now, deps=(*now.deps, *map(TaskId, deps))))


def set_deps(workspace: Workspace, task_id: str, deps: Sequence[str]) -> EditResult:
    """Replace the dependencies of a task. Raises RequestError."""
    return edit_task(workspace, task_id, lambda now: replace(now, deps=tuple(map(TaskId, deps))))


def remove_deps(workspace: Workspace, task_id: str, deps: Sequence[str]) -> EditResult:
    """Let a task no longer wait for others. Raises RequestError when it does not wait for one of them."""

    def change(now: TaskFields) -> TaskFields:
        strangers = [dep for dep in dict.fromkeys(deps) if dep not in now.deps]
        if strangers:
            raise RequestError(
                f"{task_id} does not depend on {', '.join(strangers)}: nothing was changed",
                hint=f"it depends on {', '.join(now.deps)}" if now.deps else "it depends on nothing",
            )
        return replace(now, deps=tuple(dep for dep in now.deps if dep not in deps))

    return edit_task(workspace, task_id, change)


def change_deps(
    workspace: Workspace, task_id: str, base: Sequence[TaskId], wanted: Sequence[TaskId]
) -> EditResult:
    """Make the same difference to a task's dependencies as between ``base`` and ``wanted``.

    What others add and remove meanwhile is kept. Raises RequestError.
    """

    def change(now: TaskFields) -> TaskFields:
        kept = tuple(dep for dep in now.deps if dep in wanted or dep not in base)
        return replace(now, deps=(*kept, *(dep for dep in wanted if dep not in base)))

    return edit_task(workspace, task_id, change)


TOP_OF_PLAN = "/"
_TOP_WORD = "root"
PlanChange = Callable[[Plan, Transition], Plan]


@dataclass(frozen=True)
class MoveResult:
    """The outcome of a move.

    ``followed`` had their status changed by it; ``not_undone`` ran after a parent that has open work again.
    ``recreated`` are the tasks at the top whose time of creation was changed: it is what orders them.
    """

    task_id: TaskId
    place: TreePosition
    is_changed: bool
    followed: Mapping[TaskId, Status] = field(default_factory=dict)
    not_undone: tuple[TaskId, ...] = ()
    deadlock: tuple[TaskId, ...] | None = None
    recreated: tuple[TaskId, ...] = ()


def move_task(
    workspace: Workspace, task_id: str, parent: str | None = None, index: int | None = None
) -> MoveResult:
    """Put a task, and all below it, below another parent or at another place among its children.

    ``parent`` is an id, ``/`` or ``root`` for the top, ``/ID`` for a task whatever it is called; None is
    where the task stands. Raises RequestError, also while an agent works on the task or the parent.
    """

    def place(plan: Plan, task: Task) -> TreePosition:
        return TreePosition(task.parent if parent is None else named_parent(plan, parent), index)

    return _move(workspace, task_id, place)


def move_beside(workspace: Workspace, task_id: str, sibling: str, *, is_before: bool = False) -> MoveResult:
    """Put a task, and all below it, after another task, or before it, below the same parent.

    Others may move meanwhile: it is the task beside it that counts. Raises RequestError as ``move_task``.
    """

    def place(plan: Plan, task: Task) -> TreePosition:
        beside = find_task(plan, sibling)
        if beside is task:
            raise RequestError(f"{task.id} cannot be moved beside itself")
        others = [one for one in siblings_of(plan, beside.parent) if one != task.id]
        return TreePosition(beside.parent, others.index(beside.id) + (0 if is_before else 1))

    return _move(workspace, task_id, place)


def _move(workspace: Workspace, task_id: str, find_place: Callable[[Plan, Task], TreePosition]) -> MoveResult:
    workspace.environment.forbid_agents("move tasks")
    with workspace.transaction() as transaction:
        before = transaction.state().plan
        task = find_task(before, task_id)
        place = find_place(before, task)
        require_not_busy(workspace, task)
        require_not_busy_task(workspace, before, place.parent)
        after = save_change(workspace, transaction, lambda plan, moment: moved(plan, task.id, place, moment))
        followed = changed_statuses(before, after)
        reopened = [before.tasks[below] for below in followed if before.tasks[below].status == Status.DONE]
        ran_after = {
            dependent.id for task_id in reopened for dependent in started_dependents(before, task_id)
        }
        parent = after.tasks[task.id].parent
        return MoveResult(
            task.id,
            TreePosition(parent, siblings_of(after, parent).index(task.id)),
            after is not before,
            followed,
            tuple(sorted(ran_after)),
            find_new_deadlock(before, after),
            tuple(root.id for root in after.roots() if root.created_at != before.tasks[root.id].created_at),
        )


def named_parent(plan: Plan, named: str) -> TaskId | None:
    """Return the parent of a name: None for ``/`` and ``root``, the top. Raises RequestError."""
    if named == _TOP_WORD and _TOP_WORD in plan.tasks:
        raise RequestError(
            f'"{_TOP_WORD}" is both the top of the plan and the id of a task',
            hint=f"--parent {TOP_OF_PLAN} is the top, --parent {TOP_OF_PLAN}{_TOP_WORD} the task",
        )
    if named in (TOP_OF_PLAN, _TOP_WORD):
        return None
    return find_task(plan, full_id(plan, named.removeprefix(TOP_OF_PLAN))).id


def siblings_of(plan: Plan, parent: TaskId | None) -> tuple[TaskId, ...]:
    """Return the children of a parent, or the tasks at the top, in their order."""
    return tuple(root.id for root in plan.roots()) if parent is None else plan.tasks[parent].children


def save_change(
    workspace: Workspace, transaction: Transaction, change: PlanChange, *, is_kept: bool = True
) -> Plan:
    """Save a change, and the statuses of tasks that became leaves, in one write.

    Unless ``is_kept``, nothing is written.
    """
    state = transaction.state()
    moment = workspace.transition(state.histories)
    after = change(state.plan, moment)
    if after is not state.plan:
        after = state.derived(after)
        if is_kept:
            save_plan(transaction, state, after)
    return after


def changed_statuses(before: Plan, after: Plan) -> dict[TaskId, Status]:
    """Return the tasks whose status differs between two plans, with the new status."""
    return {
        task_id: task.status
        for task_id, task in sorted(after.tasks.items())
        if task_id in before.tasks and task.status != before.tasks[task_id].status
    }
