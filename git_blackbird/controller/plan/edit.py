"""Changing the plan by hand: a start, adding tasks, and checking the file.

Every change is one transaction: the plan is read again under the store lock, so that nobody's is lost.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from git_blackbird.controller.core.guards import require_not_busy, require_not_busy_task
from git_blackbird.controller.core.status_sync import save_plan
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TASK_ID_RULE, TaskId, fold_task_id, task_id_fault
from git_blackbird.model.entities.cli_hints import task_command
from git_blackbird.model.entities.plan import Plan, Task, new_task
from git_blackbird.model.rules.graph import find_new_deadlock
from git_blackbird.model.rules.plan_edits import (
    FieldsChange,
    TaskFields,
    added,
    changed_fields,
    edited,
    fields_of,
)
from git_blackbird.model.rules.validation import PlanError
from git_blackbird.storage.config_files import with_key
from git_blackbird.storage.files import write_atomic
from git_blackbird.storage.plan_file import InvalidPlanError
from git_blackbird.storage.store import BROKEN_BY_AGENT


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


def init_plan(workspace: Workspace) -> bool:
    """Make an empty plan where there is none; return whether one was made.

    Raises SaveError, or RequestError where an agent has just removed one.
    """
    with workspace.transaction() as transaction:
        if workspace.store.plan_bytes() is not None:
            return False
        if transaction.plan_backup() is not None:
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
    """Add one task to the plan as it is under the lock, so that concurrent writers never lose one.

    Raises RequestError naming what is wrong with it.
    """
    with workspace.transaction() as transaction:
        state = transaction.state()
        plan, moment = state.plan, workspace.transition(state.histories)
        task = _build(workspace, plan, new, moment.now)
        _refuse_former_runs(workspace, task.id)
        require_not_busy_task(workspace, plan, task.parent)
        save_plan(transaction, state, added(plan, task, new.index, moment))
        return task


def _build(workspace: Workspace, plan: Plan, new: NewTask, now: str) -> Task:
    task_id = new.id if new.id is not None else f"w_{workspace.environment.random_bits(48):012x}"
    fault = task_id_fault(task_id)
    if fault is not None:
        raise RequestError(f"the id {task_id!a} {fault}", hint=TASK_ID_RULE)
    if fold_task_id(task_id) in map(fold_task_id, plan.tasks):
        raise RequestError(f'a task "{task_id}" already exists (ids are compared without case)')
    return replace(
        new_task(TaskId(task_id), new.title, now),
        description=new.description,
        acceptance_criteria=new.acceptance_criteria,
        prompt=new.prompt,
        parent=None if new.parent is None else find_task(plan, new.parent).id,
        deps=tuple(find_task(plan, dep).id for dep in dict.fromkeys(new.deps)),
        notes=new.notes,
    )


def _refuse_former_runs(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse the id of a deleted task with runs: the new task would inherit its status and feedback."""
    if workspace.store.records.history(task_id).own:
        raise RequestError(
            f'runs of a deleted task "{task_id}" are still here and would count for the new one',
            hint=f"choose another id; {task_command('runs', task_id)} shows them",
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
        """Name the fields that changed, as TaskFields does."""
        return changed_fields(self.before, self.after)


def edit_task(workspace: Workspace, task_id: str, change: FieldsChange) -> EditResult:
    """Change what is written of a task; ``change`` is given the fields as they are under the lock.

    Raises RequestError, also while an agent works on the task; what ``change`` raises changes nothing.
    """
    workspace.forbid_agents("edit tasks")
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


def add_deps(workspace: Workspace, task_id: str, deps: Sequence[str]) -> EditResult:
    """Let a task wait for others beside those it waits for. Raises RequestError."""
    return edit_task(workspace, task_id, lambda now: replace(now, deps=(*now.deps, *map(TaskId, deps))))


def set_deps(workspace: Workspace, task_id: str, deps: Sequence[str]) -> EditResult:
    """Let a task wait for these tasks and no others. Raises RequestError."""
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
