"""The plan as a page of tasks: make tasks of a page, and change the plan to what an edited page says."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from git_blackbird.controller.core.guards import (
    require_not_busy,
    require_not_busy_task,
    require_whole,
    unfinished_error,
    unfinished_run,
)
from git_blackbird.controller.core.status_sync import save_plan
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.plan.edit import EditResult, named_parent, require_no_runs
from git_blackbird.controller.plan.page_reading import AddedTask, PageReading
from git_blackbird.errors import RequestError
from git_blackbird.messages.forms.page import PageTask
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.plan.graph import find_new_deadlock
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.plan_edits import rewritten
from git_blackbird.model.rules.task_fields import changed_fields, fields_of
from git_blackbird.storage.store import Transaction


@dataclass(frozen=True)
class PageResult:
    """What a page made of the plan.

    ``edited`` has the names of the fields that changed, as TaskFields does. ``is_reordered``: tasks below a
    parent, or at the top, are in another order. ``deadlock`` names tasks that wait for one another for ever.
    """

    added: tuple[AddedTask, ...] = ()
    edited: Mapping[TaskId, tuple[str, ...]] = field(default_factory=dict)
    moved: tuple[TaskId, ...] = ()
    deleted: tuple[TaskId, ...] = ()
    is_reordered: bool = False
    deadlock: tuple[TaskId, ...] | None = None

    @classmethod
    def of_added(cls, task: Task) -> "PageResult":
        return cls(added=(AddedTask(task.id, task.title, 0),))

    @classmethod
    def of_edited(cls, edit: EditResult) -> "PageResult":
        return cls(edited={edit.task_id: edit.fields} if edit.fields else {}, deadlock=edit.deadlock)

    @property
    def is_changed(self) -> bool:
        return bool(self.added or self.edited or self.moved or self.deleted or self.is_reordered)


@dataclass(frozen=True)
class PageChange:
    result: PageResult
    before: Plan
    after: Plan


Judge = Callable[[PageChange], None]
"""Refuse a change before anything is saved: raise RequestError."""


class RemovedError(RequestError):
    """A page lacks tasks that it began with; accepting it would delete ``task_ids``."""

    def __init__(self, task_ids: tuple[TaskId, ...]) -> None:
        names = ", ".join(task_ids)
        deletes, renames = TaskCommand("delete", task_ids[0]), TaskCommand("rename", task_ids[0], " NEW")
        super().__init__(
            f"the page has no longer: {names}",
            hint=Sentence(
                "nothing was changed; ", deletes, " deletes a task, ", renames, " gives it another id"
            ),
        )
        self.task_ids = task_ids


def add_page(workspace: Workspace, page: Sequence[PageTask], parent: str | None = None) -> PageResult:
    """Add the tasks of a page to the plan, below ``parent``. Raises PageError, RequestError."""
    return _add(workspace, page, parent, is_kept=True)


def preview_page(workspace: Workspace, page: Sequence[PageTask], parent: str | None = None) -> PageResult:
    """Return what ``add_page`` would do, and save nothing. Raises as that does."""
    return _add(workspace, page, parent, is_kept=False)


def makes_a_plan(workspace: Workspace, page: Sequence[PageTask]) -> bool:
    """Whether a page could be added to a plan without tasks."""
    reading = PageReading(Plan(), (), page, None)
    try:
        after = rewritten(Plan(), reading.wanted(), reading.orders(), (), workspace.transition({}))
        _require_free(workspace, Plan(), after)
    except RequestError:
        return False
    return True


def _add(workspace: Workspace, page: Sequence[PageTask], parent: str | None, *, is_kept: bool) -> PageResult:
    with workspace.transaction() as transaction:
        plan = transaction.state().plan
        above = None if parent is None else named_parent(plan, parent)
        return _apply(workspace, transaction, PageReading(plan, (), page, above), is_kept=is_kept).result


def edit_page(
    workspace: Workspace,
    base: Sequence[PageTask],
    page: Sequence[PageTask],
    above: TaskId | None = None,
    agreed: Collection[TaskId] = (),
) -> PageResult:
    """Change the plan as a page was changed that began as ``base``; what others changed meanwhile is kept.

    New tasks at its top go below ``above``. Tasks that it has no longer are deleted if that was ``agreed``.
    Raises PageError, RemovedError, PageConflictError, RequestError.
    """
    workspace.environment.forbid_agents("edit tasks")
    with workspace.transaction() as transaction:
        reading = PageReading(transaction.state().plan, base, page, above)
        if set(reading.removed) - set(agreed):
            raise RemovedError(reading.removed)
        return _apply(workspace, transaction, reading, is_kept=True).result


def change_plan(
    workspace: Workspace,
    base: Sequence[PageTask],
    page: Sequence[PageTask],
    judge: Judge | None = None,
    *,
    is_kept: bool,
) -> PageChange:
    """Change the plan as ``edit_page`` does, if ``judge`` does not refuse, or only return the change.

    Tasks that the page has no longer are deleted. Raises as that does, and what ``judge`` does.
    """
    with workspace.transaction() as transaction:
        reading = PageReading(transaction.state().plan, base, page, None)
        return _apply(workspace, transaction, reading, judge, is_kept=is_kept)


def _apply(
    workspace: Workspace,
    transaction: Transaction,
    reading: PageReading,
    judge: Judge | None = None,
    *,
    is_kept: bool,
) -> PageChange:
    state = transaction.state()
    plan, moment = state.plan, workspace.transition(state.histories)
    wanted = reading.wanted()
    try:
        after = rewritten(plan, wanted, reading.orders(), reading.removed, moment)
    except RequestError as error:
        raise reading.located(error) from error
    after = state.derived(after)
    _require_free(workspace, plan, after)
    change = PageChange(_result(plan, after, reading), plan, after)
    if judge is not None:
        judge(change)
    if is_kept and after != plan:
        save_plan(transaction, state, after)
        for task_id in reading.removed:
            transaction.drop_feedback(task_id)
    return change


def _require_free(workspace: Workspace, before: Plan, after: Plan) -> None:
    """Refuse to change what an agent works on, to delete unfinished changes, to add what has runs."""
    for task_id in before.tasks.keys() - after.tasks.keys():
        history = workspace.store.records.history(task_id)
        require_not_busy(workspace, before.tasks[task_id])
        require_whole(history)
        if (run := unfinished_run(history)) is not None:
            raise unfinished_error(
                run, TaskCommand("delete", task_id, " --force", remark="deletes it anyway")
            )
    for task in after.tasks.values():
        old = before.tasks.get(task.id)
        if old is None:
            require_no_runs(workspace, task.id)
            require_not_busy_task(workspace, before, task.parent if task.parent in before.tasks else None)
        elif fields_of(old) != fields_of(task) or old.parent != task.parent:
            require_not_busy(workspace, old)


def _result(before: Plan, after: Plan, reading: PageReading) -> PageResult:
    old = [task_id for task_id in reading.ids if task_id in before.tasks and task_id in after.tasks]
    # Others are edited too, if they depended on what was deleted.
    others = (task_id for task_id in before.tasks if task_id in after.tasks)
    edited = {
        task_id: names
        for task_id in dict.fromkeys((*old, *others))
        if (names := changed_fields(fields_of(before.tasks[task_id]), fields_of(after.tasks[task_id])))
    }
    new = after.tasks.keys() - before.tasks.keys()
    orders = (
        [task.id for _, task in plan.walk() if task.id in other.tasks]
        for plan, other in ((before, after), (after, before))
    )
    return PageResult(
        tuple(one for one in reading.tasks() if one.id in new),
        edited,
        tuple(one for one in old if before.tasks[one].parent != after.tasks[one].parent),
        tuple(sorted(before.tasks.keys() - after.tasks.keys())),
        len({tuple(order) for order in orders}) > 1,
        find_new_deadlock(before, after),
    )
