"""Editing what is written of a task, its dependencies among it (PEER.md 2, ``edit`` and ``deps``)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from git_blackbird.controller.core.guards import require_not_busy
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.task_fields import FieldsChange, TaskFields, changed_fields, fields_of
from git_blackbird.model.plan.graph import find_new_deadlock
from git_blackbird.model.rules.plan_edits import edited


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
        before = transaction.plan()
        task = find_task(before, task_id)
        require_not_busy(transaction, task)
        wanted = change(fields_of(task))
        for dep in wanted.deps:
            find_task(before, dep)
        now = workspace.environment.timestamp()
        after = transaction.change_plan(lambda plan: edited(plan, task.id, wanted, now))
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
