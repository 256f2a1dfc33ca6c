"""Output of the commands that make, check and change the plan."""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.controller.plan.deletion import DeleteResult
from git_blackbird.controller.plan.edit import EditResult, MoveResult
from git_blackbird.controller.plan.imports import ImportResult
from git_blackbird.controller.plan.page import PageResult
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.status import StatusChange
from git_blackbird.model.run.parent_verdict import Feedback

_DEADLOCK = "Tasks that wait for one another for ever by this change, as `[a, b, a]`; empty when none do."


_JSON_NAMES = {"acceptance_criteria": "acceptanceCriteria", "dep_rationale": "depRationale"}


class AddOutput(Printed[PageResult]):
    """What `add` added."""

    field = Fields[PageResult]()
    id: TaskId = field("The id of the first new task.", lambda it: it.added[0].id)
    added: tuple[TaskId, ...] = field(
        "The ids of all new tasks, in the order of the page.", lambda it: tuple(task.id for task in it.added)
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, lambda it: it.deadlock or ())


class EditedTask(NamedTuple):
    """A task that was edited."""

    task: Annotated[TaskId, Shown("The task.")]
    fields: Annotated[tuple[str, ...], Shown("The names of the fields that changed.")]


def edited_tasks(result: PageResult) -> tuple[EditedTask, ...]:
    return tuple(
        EditedTask(task_id, tuple(_JSON_NAMES.get(name, name) for name in names))
        for task_id, names in result.edited.items()
    )


class EditOutput(Printed[PageResult]):
    """What `edit` changed."""

    field = Fields[PageResult]()
    edited: tuple[EditedTask, ...] = field("The tasks of which fields changed.", edited_tasks)
    added: tuple[TaskId, ...] = field(
        "New tasks of the page.", lambda it: tuple(task.id for task in it.added)
    )
    moved: tuple[TaskId, ...] = field("Tasks that have another parent.", lambda it: it.moved)
    deleted: tuple[TaskId, ...] = field("Tasks that the page has no longer.", lambda it: it.deleted)
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, lambda it: it.deadlock or ())


class ImportOutput(Printed[ImportResult]):
    """What `plan import` made of the plan."""

    def __init__(self, result: ImportResult, form: str, source: str, *, is_dry_run: bool) -> None:
        super().__init__(result)
        self.form, self.source, self.is_dry_run = form, source, is_dry_run

    field = Fields[ImportResult]()
    form: Annotated[str, Shown("What was read, as `--format` names it.")]
    source: Annotated[str, Shown("The name under which it is remembered.")]
    is_dry_run: Annotated[bool, Shown("Whether nothing was changed, only shown.")]
    added: tuple[TaskId, ...] = field("New tasks.", lambda it: tuple(task.id for task in it.page.added))
    edited: tuple[EditedTask, ...] = field(
        "The tasks of which fields changed.", lambda it: edited_tasks(it.page)
    )
    moved: tuple[TaskId, ...] = field("Tasks that have another parent.", lambda it: it.page.moved)
    left_out: tuple[str, ...] = field(
        "What has no place here, or was kept as it is, in words.", lambda it: it.left_out
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, lambda it: it.page.deadlock or ())


class DepsOutput(Printed[EditResult]):
    """What `deps` changed."""

    field = Fields[EditResult]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    deps: tuple[TaskId, ...] = field("What it depends on now.", lambda it: it.after.deps)
    added: tuple[TaskId, ...] = field(
        "Dependencies that it did not have before.",
        lambda it: tuple(dep for dep in it.after.deps if dep not in it.before.deps),
    )
    removed: tuple[TaskId, ...] = field(
        "Dependencies that it has no more.",
        lambda it: tuple(dep for dep in it.before.deps if dep not in it.after.deps),
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, lambda it: it.deadlock or ())


class MoveOutput(Printed[MoveResult]):
    """Where a task was moved."""

    field = Fields[MoveResult]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    parent: TaskId | None = field("Its parent; null at the top of the plan.", lambda it: it.place.parent)
    index: int | None = field(
        "The position that was asked for, from 0; null for the end.", lambda it: it.place.index
    )
    moved: bool = field("Whether it was elsewhere before.", lambda it: it.is_changed)
    changed: tuple[TaskId, ...] = field("Tasks whose status changed with it.", lambda it: tuple(it.followed))
    not_undone: tuple[TaskId, ...] = field(
        "Tasks that ran after a parent that has open work again, and are not reset.", lambda it: it.not_undone
    )
    recreated: tuple[TaskId, ...] = field(
        "Tasks whose `createdAt`, which orders the top of the plan, was changed.", lambda it: it.recreated
    )
    deadlock: tuple[TaskId, ...] = field(_DEADLOCK, lambda it: it.deadlock or ())


class DeleteOutput(Printed[DeleteResult]):
    """What `delete` deleted."""

    field = Fields[DeleteResult]()
    deleted: tuple[TaskId, ...] = field("The tasks that were deleted.", lambda it: it.task_ids)
    detached: tuple[TaskId, ...] = field(
        "Tasks that depended on one of them, and do no more.", lambda it: it.detached
    )
    runs: Mapping[TaskId, tuple[RunId, ...]] = field(
        "Runs of theirs, whose records stay.", lambda it: it.runs
    )
    dropped: tuple[RunId, ...] = field("Runs whose change was not finished.", lambda it: it.dropped)
    changed: tuple[TaskId, ...] = field("Tasks whose status changed with it.", lambda it: tuple(it.followed))
    is_dry_run: bool = field("Whether nothing was changed, only shown.", lambda it: it.is_dry_run)


class StatusChangeOutput(Printed[StatusChange]):
    """What a status set by hand, or a retry, led to."""

    field = Fields[StatusChange]()
    task: TaskId = field("The task.", lambda it: it.task_id)
    status: Status = field("Its status now.", lambda it: it.status)
    superseded: tuple[RunId, ...] = field(
        "Runs of it that no longer count.", lambda it: tuple(run.id for run in it.overtaken)
    )
    pending: tuple[str, ...] = field("What its agent must still be told.", lambda it: it.pending)
    changed: tuple[TaskId, ...] = field("Parents whose status changed with it.", lambda it: it.reopened)
    not_undone: tuple[TaskId, ...] = field(
        "Tasks that depend on it, and are not reset.", lambda it: it.dependents
    )
    dropped_feedback: Feedback | None = field(
        "Feedback of a parent review that was never sent and is dropped, as its file has it.",
        lambda it: it.let_go,
    )
    commits: tuple[str, ...] = field(
        "What became of commits that their hooks had left to be recorded.", lambda it: it.commits
    )
