"""Statuses that a person sets: retry and set-status. Nothing is started."""

from git_blackbird.controller.change.work.manual_commits import recording_deferred
from git_blackbird.controller.core.guards import require_not_busy, require_readable, require_whole
from git_blackbird.controller.core.status_sync import save_plan, save_statuses, supersede_runs
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import Sentence, TaskCommand, dismiss_command
from git_blackbird.model.change.change import Change
from git_blackbird.model.plan.graph import ancestors, started_dependents
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import RETRIABLE, Status
from git_blackbird.model.rules.reviews import are_children_over, open_children
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import StatusChange, apply_statuses
from git_blackbird.model.run.states import SUPERSEDED_BY_RETRY, SUPERSEDED_BY_STATUS
from git_blackbird.storage.store import Transaction


def reset_task(workspace: Workspace, task_id: str, by: str = SUPERSEDED_BY_RETRY) -> StatusChange:
    """Make a task ``todo`` again; its runs are overtaken, nothing is started.

    Raises RequestError when it is in no state to be reset.
    """
    workspace.environment.forbid_agents("reset a task")
    with recording_deferred(workspace) as commits, workspace.transaction() as transaction:
        state, task = _idle_task(workspace, transaction, task_id)
        if not task.is_leaf:
            raise RequestError(f"{task.id} has children; retry the one that failed")
        if task.status not in RETRIABLE and task.id not in state.feedback:
            anyway = TaskCommand("set-status", task.id, " todo", remark="does it anyway")
            waits = TaskCommand("show", task.id, remark="says whether it can start")
            raise RequestError(
                f"task {task.id} is not failed, waiting or blocked: it is {task.status}",
                hint=waits if task.status is Status.TODO else anyway,
            )
        return _set(workspace, transaction, task, Status.TODO, by)._replace(commits=commits)


def _idle_task(workspace: Workspace, transaction: Transaction, task_id: str) -> tuple[PlanState, Task]:
    state = save_statuses(transaction).state
    task = find_task(state.plan, task_id)
    require_not_busy(workspace, task)
    require_readable(state, task)
    require_whole(state.history(task.id))
    return state, task


def set_status(workspace: Workspace, task_id: str, status: Status) -> StatusChange:
    """Set a status by hand; the task's runs are overtaken, so that it is never repaired away.

    Raises RequestError while an agent works on the task.
    """
    workspace.environment.forbid_agents("set a status")
    with recording_deferred(workspace) as commits, workspace.transaction() as transaction:
        state, task = _idle_task(workspace, transaction, task_id)
        owed = state.feedback.get(task.id)
        if owed is not None and status is task.status is Status.DONE:
            raise RequestError(
                f"{task.id} is done but has open feedback from the review of {owed.parent_task_id}",
                hint=(TaskCommand("resume", task.id), dismiss_command(owed.parent_task_id)),
            )
        if status is Status.DONE and state.is_gated:
            _require_no_open_children(state.plan, task)
        if are_children_over(state.plan.tasks, task) and status != task.status:
            raise _derived_status_error(task, status)
        change = _set(workspace, transaction, task, status, f"{SUPERSEDED_BY_STATUS}{status.value}")
        return change._replace(commits=commits)


def _require_no_open_children(plan: Plan, parent: Task) -> None:
    open_ones = open_children(plan.tasks, parent)
    if open_ones:
        raise RequestError(
            f"{parent.id} is done when its children are and its review passed; open: {', '.join(open_ones)}",
            hint=Sentence(
                "skip a child that is not wanted any more: ",
                TaskCommand("set-status", open_ones[0], " skipped"),
            ),
        )


def _derived_status_error(task: Task, status: Status) -> RequestError:
    if status is Status.DONE:
        return RequestError(
            f"{task.id} is done once its review passes: none of its children is open",
            hint=(TaskCommand("review run", task.id), dismiss_command(task.id)),
        )
    return RequestError(
        f"{task.id} follows its children, and none of them is open",
        hint=f"set one of them: {', '.join(task.children)}",
    )


def _set(workspace: Workspace, transaction: Transaction, task: Task, status: Status, by: str) -> StatusChange:
    """Write the records first, the plan second, under the one lock."""
    history, now = workspace.store.records.history(task.id), workspace.environment.timestamp()
    overtaken = supersede_runs(transaction, history, now, by)
    state = transaction.state()
    before = state.plan
    review = state.feedback.get(task.id) if status is Status.DONE else None
    after = apply_statuses(before, {task.id: status}, workspace.transition(state.histories))
    save_plan(transaction, state, after, [task.id])
    save_statuses(transaction)
    leaves_done = before.tasks[task.id].status == Status.DONE != status
    return StatusChange(
        task.id,
        status,
        overtaken,
        Change.of(workspace.store.records.history(task.id)).messages().texts,
        tuple(dependent.id for dependent in started_dependents(before, task)) if leaves_done else (),
        tuple(
            parent.id for parent in ancestors(before, task) if after.tasks[parent.id].status != parent.status
        ),
        review,
    )
