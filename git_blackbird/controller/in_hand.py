"""What a change of the plan must leave alone: tasks that an agent or a person has in hand."""

from git_blackbird.controller.liveness import is_alive
from git_blackbird.controller.pending import require_unclaimed
from git_blackbird.controller.unreadable import require_usable
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import decide_run_command, task_command
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.run import ReviewState, RunStatus
from git_blackbird.storage.store import Transaction

_IN_HAND = frozenset({Status.IN_PROGRESS, Status.WAITING_USER})


def require_idle(transaction: Transaction, task: Task) -> None:
    """Refuse to change a task while an agent works on it, or its change is being committed.

    Raises RequestError, LockedError, and UnreadableRecordError where that cannot be known.
    """
    require_unclaimed(transaction, task.id)
    history = transaction.history(task.id)
    require_usable(task.id, history)
    if history.live is not None and is_alive(history.live):
        raise RequestError(
            f"an agent works on {task.id} (run {history.live.id}, process {history.live.pid})",
            hint="Ctrl+C in the terminal that runs it pauses it",
        )
    is_due = history.latest is not None and history.latest.review_state is ReviewState.DUE
    if not is_due or not transaction.is_worked_on():
        return
    for review in transaction.reviews(task.id).runs:
        if review.status is RunStatus.RUNNING and is_alive(review):
            raise RequestError(
                f"reviewers look at the change of {task.id} (run {review.id}, process {review.pid})",
                hint="Ctrl+C in the terminal that runs them stops them",
            )


def require_free(transaction: Transaction, plan: Plan, parent_id: TaskId | None) -> None:
    """Only leaves are executed: what an agent or a person has in hand must not become a parent."""
    if parent_id is None or not plan.tasks[parent_id].is_leaf:
        return
    parent, history = plan.tasks[parent_id], transaction.history(parent_id)
    require_idle(transaction, parent)
    if history.latest is not None and history.latest.is_pending:
        raise RequestError(
            f"{parent.id} cannot become a parent yet: a decision on it is due",
            hint=decide_run_command(history.latest),
        )
    if parent.status in _IN_HAND and history.own:
        raise RequestError(
            f"{parent.id} cannot become a parent while it is {parent.status}",
            hint=f"finish it first, or abandon it: {task_command('retry', parent.id)}",
        )
