"""Statuses that a person sets: retry and set-status (DESIGN.md 5). Nothing is started."""

from git_blackbird.controller.deferred_commits import record_deferred
from git_blackbird.controller.in_hand import require_idle
from git_blackbird.controller.overtaking import overtake_runs
from git_blackbird.controller.statuses import save_progress, save_statuses
from git_blackbird.controller.unreadable import require_readable
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.choosable import RETRIABLE
from git_blackbird.model.commands import (
    dismiss_command,
    task_command,
)
from git_blackbird.model.gate import open_children
from git_blackbird.model.graph import ancestors, ran_after
from git_blackbird.model.history import owed_words
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.reset import Reset
from git_blackbird.model.run import (
    OVERTAKEN_BY_RETRY,
    OVERTAKEN_BY_STATUS,
)
from git_blackbird.model.status import apply_statuses, follows_done_children
from git_blackbird.storage.store import Transaction


def reset_task(workspace: Workspace, task_id: str, by: str = OVERTAKEN_BY_RETRY) -> Reset:
    """Make a task ``todo`` again; its runs are overtaken, nothing is started.

    Raises RequestError when it is in no state to be reset.
    """
    workspace.require_person("reset a task")
    record_deferred(workspace)
    with workspace.transaction() as transaction:
        plan = transaction.plan()
        task = find_task(plan, task_id)
        _require_resettable(workspace, transaction, task)
        return _set(workspace, transaction, task, Status.TODO, by)


def _require_resettable(workspace: Workspace, transaction: Transaction, task: Task) -> None:
    require_idle(transaction, task)
    require_readable(workspace.standing_of(task.id), task)
    if not task.is_leaf:
        raise RequestError(f"{task.id} has children; retry the one that failed")
    if task.status not in RETRIABLE and task.id not in transaction.feedback():
        raise RequestError(
            f"task {task.id} is not failed, waiting or blocked: it is {task.status}",
            hint=f"`{task_command('set-status', task.id, ' todo')}` does it anyway",
        )


def set_status(workspace: Workspace, task_id: str, status: Status) -> Reset:
    """Set a status by hand; the task's runs are overtaken, so that it is never repaired away.

    Raises RequestError while an agent works on the task.
    """
    workspace.require_person("set a status")
    record_deferred(workspace)
    with workspace.transaction() as transaction:
        plan = transaction.plan()
        task = find_task(plan, task_id)
        require_idle(transaction, task)
        standing = workspace.standing_of(task.id)
        require_readable(standing, task)
        owed = standing.feedback.get(task.id)
        if owed is not None and status is task.status is Status.DONE:
            raise RequestError(
                f"{task.id} is done but has open feedback from the review of {owed.parent_task_id}",
                hint=f"{task_command('resume', task.id)}\n" + dismiss_command(owed.parent_task_id),
            )
        if status is Status.DONE and standing.is_gated:
            _require_no_open_children(plan, task)
        if follows_done_children(plan, task) and status != task.status:
            raise _follows_children(task, status)
        return _set(workspace, transaction, task, status, f"{OVERTAKEN_BY_STATUS}{status.value}")


def _require_no_open_children(plan: Plan, parent: Task) -> None:
    """A parent is not let go around its review while a child is still to be done; skipped ones are let go."""
    open_ones = open_children(plan.tasks, parent)
    if open_ones:
        raise RequestError(
            f"{parent.id} is done when its children are and its review passed; open: {', '.join(open_ones)}",
            hint="skip a child that is not wanted any more: "
            + task_command("set-status", open_ones[0], " skipped"),
        )


def _follows_children(task: Task, status: Status) -> RequestError:
    if status is Status.DONE:
        return RequestError(
            f"{task.id} is done once its review passes: none of its children is open",
            hint=f"{task_command('review run', task.id)}\n" + dismiss_command(task.id),
        )
    return RequestError(
        f"{task.id} follows its children, and none of them is open",
        hint=f"set one of them: {', '.join(task.children)}",
    )


def _set(workspace: Workspace, transaction: Transaction, task: Task, status: Status, by: str) -> Reset:
    """Write the records first, the plan second, under the one lock."""
    overtaken = overtake_runs(transaction, task.id, by, workspace.world.timestamp())
    image = transaction.image()
    before = image.plan
    review = workspace.standing(image).feedback.get(task.id) if status is Status.DONE else None
    after = apply_statuses(before, {task.id: status}, workspace.moment(image.histories))
    save_progress(transaction, image, after)
    save_statuses(workspace, transaction)
    leaves_done = before.tasks[task.id].status == Status.DONE != status
    return Reset(
        task.id,
        status,
        overtaken,
        owed_words(transaction.history(task.id)).texts,
        tuple(one.id for one in ran_after(before, task)) if leaves_done else (),
        tuple(one.id for one in ancestors(before, task) if after.tasks[one.id].status != one.status),
        review,
    )
