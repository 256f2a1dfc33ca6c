"""Output of the commands that make, check and change the plan."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View
from git_blackbird.controller.plan.edit import EditResult
from git_blackbird.controller.plan.move import DeleteResult, MoveResult
from git_blackbird.controller.setup.hooks import Action
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.status import Status
from git_blackbird.model.plan.validation import PlanError
from git_blackbird.model.views.stop import StatusChange

_DEADLOCK = "Tasks that wait for one another for ever by this change, as `[a, b, a]`; empty when none do."
_CHANGED = "Tasks whose status changed with it."
_JSON_NAMES = {"acceptance_criteria": "acceptanceCriteria"}


class InitOutput(CommandOutput):
    """What `init` created."""

    schema_name: ClassVar[str] = "init"

    plan: str = Field(description="The path of the plan file.")
    created: bool = Field(description="Whether it was created now.")
    config: str | None = Field(description="The path of the configuration that was written.")
    hook: Action | None = Field(description="What was done with the hook; null when it was not touched.")

    @classmethod
    def of(cls, plan: Path, *, created: bool, config: Path | None, hook: Action | None) -> Self:
        """Make it of the paths of both files."""
        return cls(plan=str(plan), created=created, config=None if config is None else str(config), hook=hook)


class PlanFault(View):
    """One error in the plan file."""

    place: str = Field(description="Where it is, as a JSON path.")
    what: str = Field(description="What is wrong.")
    fix: str = Field(description="How to correct it.")


class ValidateOutput(CommandOutput):
    """Whether the plan is valid."""

    schema_name: ClassVar[str] = "validate"

    valid: bool = Field(description="Whether there is no fault.")
    faults: tuple[PlanFault, ...] = Field(description="Every error in the file.")

    @classmethod
    def of(cls, faults: Sequence[PlanError]) -> Self:
        """Make it of what validation found."""
        named = (PlanFault(place=one.place, what=one.what, fix=one.fix) for one in faults)
        return cls(valid=not faults, faults=tuple(named))


class AddOutput(CommandOutput):
    """What `add` added."""

    schema_name: ClassVar[str] = "add"

    id: TaskId = Field(description="The id of the new task.")


class EditOutput(CommandOutput):
    """What `edit` changed."""

    schema_name: ClassVar[str] = "edit"

    task: TaskId = Field(description="The task.")
    fields: tuple[str, ...] = Field(description="The names of the fields that changed.")
    deadlock: tuple[TaskId, ...] = Field(description=_DEADLOCK)

    @classmethod
    def of(cls, done: EditResult) -> Self:
        """Make it of an edit."""
        fields = tuple(_JSON_NAMES.get(name, name) for name in done.fields)
        return cls(task=done.task_id, fields=fields, deadlock=done.deadlock or ())


class DepsOutput(CommandOutput):
    """What `deps` changed."""

    schema_name: ClassVar[str] = "deps"

    task: TaskId = Field(description="The task.")
    deps: tuple[TaskId, ...] = Field(description="What it depends on now.")
    added: tuple[TaskId, ...] = Field(description="Dependencies that it did not have before.")
    removed: tuple[TaskId, ...] = Field(description="Dependencies that it has no more.")
    deadlock: tuple[TaskId, ...] = Field(description=_DEADLOCK)

    @classmethod
    def of(cls, done: EditResult) -> Self:
        """Make it of an edit of the dependencies."""
        before, after = done.before.deps, done.after.deps
        return cls(
            task=done.task_id,
            deps=after,
            added=tuple(dep for dep in after if dep not in before),
            removed=tuple(dep for dep in before if dep not in after),
            deadlock=done.deadlock or (),
        )


class MoveOutput(CommandOutput):
    """Where a task was moved."""

    schema_name: ClassVar[str] = "move"

    task: TaskId = Field(description="The task.")
    parent: TaskId | None = Field(description="Its parent; null at the top of the plan.")
    index: int | None = Field(description="The position that was asked for, from 0; null for the end.")
    moved: bool = Field(description="Whether it was elsewhere before.")
    changed: tuple[TaskId, ...] = Field(description=_CHANGED)
    not_undone: tuple[TaskId, ...] = Field(
        description="Tasks that ran after a parent that has open work again, and are not reset."
    )
    recreated: tuple[TaskId, ...] = Field(
        description="Tasks whose `createdAt`, which orders the top of the plan, was changed."
    )
    deadlock: tuple[TaskId, ...] = Field(description=_DEADLOCK)

    @classmethod
    def of(cls, moved: MoveResult) -> Self:
        """Make it of a move."""
        return cls(
            task=moved.task_id,
            parent=moved.place.parent,
            index=moved.place.index,
            moved=moved.is_changed,
            changed=tuple(moved.followed),
            not_undone=moved.not_undone,
            recreated=moved.recreated,
            deadlock=moved.deadlock or (),
        )


class DeleteOutput(CommandOutput):
    """What `delete` deleted."""

    schema_name: ClassVar[str] = "delete"

    deleted: tuple[TaskId, ...] = Field(description="The tasks that were deleted.")
    detached: tuple[TaskId, ...] = Field(description="Tasks that depended on one of them, and do no more.")
    runs: Mapping[TaskId, tuple[RunId, ...]] = Field(description="Runs of theirs, whose records stay.")
    dropped: tuple[RunId, ...] = Field(description="Runs on which a decision was due.")
    changed: tuple[TaskId, ...] = Field(description=_CHANGED)

    @classmethod
    def of(cls, deleted: DeleteResult) -> Self:
        """Make it of a deletion."""
        return cls(
            deleted=deleted.task_ids,
            detached=deleted.detached,
            runs=deleted.runs,
            dropped=deleted.dropped,
            changed=tuple(deleted.followed),
        )


class StatusChangeOutput(CommandOutput):
    """What a status set by hand, or a retry, led to."""

    schema_name: ClassVar[str] = "set-status"

    task: TaskId = Field(description="The task.")
    status: Status = Field(description="Its status now.")
    superseded: tuple[RunId, ...] = Field(description="Runs of it that no longer count.")
    pending: tuple[str, ...] = Field(description="What its agent must still be told.")
    changed: tuple[TaskId, ...] = Field(description="Parents whose status changed with it.")
    not_undone: tuple[TaskId, ...] = Field(description="Tasks that depend on it, and are not reset.")
    dropped_feedback: Feedback | None = Field(
        description="Feedback of a parent review that was never sent and is dropped, as its file has it."
    )

    @classmethod
    def of(cls, change: StatusChange) -> Self:
        """Make it of a change of status."""
        return cls(
            task=change.task_id,
            status=change.status,
            superseded=tuple(run.id for run in change.overtaken),
            pending=change.pending,
            changed=change.reopened,
            not_undone=change.dependents,
            dropped_feedback=change.let_go,
        )


class TaskView(View):
    """One task, its fields named as in the plan file."""

    id: TaskId = Field(description="Its id.")
    title: str = Field(description="What it is, in one line.")
    description: str = Field(description="What it is about.")
    acceptance_criteria: tuple[str, ...] = Field(description="When it is done.")
    prompt: str = Field(description="What its agent is to do.")
    parent_id: TaskId | None = Field(description="Its parent; null at the top of the plan.")
    child_ids: tuple[TaskId, ...] = Field(description="Its children in their order.")
    deps: tuple[TaskId, ...] = Field(description="Tasks that must be done first.")
    status: Status = Field(description="Its status.")
    label: str = Field(
        description="`READY`, `BLOCKED`, `TODO` (a parent), or the status in capitals.",
    )
    created_at: str = Field(description="When it was created.")
    updated_at: str = Field(description="When it was last changed.")
    notes: str | None = Field(description="Notes for people.")

    @classmethod
    def of(cls, task: Task, label: str) -> Self:
        """Make it of a task of the plan."""
        return cls(**_task_fields(task, label))


def _task_fields(task: Task, label: str) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptance_criteria": task.acceptance_criteria,
        "prompt": task.prompt,
        "parent_id": task.parent,
        "child_ids": task.children,
        "deps": task.deps,
        "status": task.status,
        "label": label,
        "created_at": task.created_at,
        "updated_at": task.updated_at,
        "notes": task.notes,
    }


class ListedTask(TaskView):
    """A task in a list."""

    depth: int = Field(description="How deep it is in the tree; 0 without `--tree`.")


class ListOutput(CommandOutput):
    """The tasks that `list` found."""

    schema_name: ClassVar[str] = "list"

    tasks: tuple[ListedTask, ...] = Field(description="The tasks, in plan order.")

    @classmethod
    def of(cls, rows: Sequence[tuple[int, Task, str]]) -> Self:
        """Make it of tasks with their depths and labels."""
        listed = (ListedTask(**_task_fields(task, label), depth=depth) for depth, task, label in rows)
        return cls(tasks=tuple(listed))
