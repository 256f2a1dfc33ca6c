"""Refuse changes to tasks that an agent is working on or that wait for a decision."""

from git_blackbird.controller.core.processes import is_alive
from git_blackbird.controller.core.unreadable import require_usable
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import LockedError, RequestError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.cli_hints import decide_run_command, task_command
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.model.entities.run import ReviewState, Run, RunStatus
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.attention import is_decision_alive
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import status_of_run
from git_blackbird.storage.locks import approval_in_progress, controller_holder

_IN_HAND = frozenset({Status.IN_PROGRESS, Status.WAITING_USER})


def require_not_busy(workspace: Workspace, task: Task) -> None:
    """Refuse to change a task while an agent works on it, or its change is being committed.

    Raises RequestError, LockedError, and UnreadableRecordError where that cannot be known.
    """
    require_unclaimed(workspace, task.id)
    history = workspace.store.records.history(task.id)
    require_usable(task.id, history)
    if history.live is not None and is_alive(history.live):
        raise RequestError(
            f"an agent is working on {task.id} (run {history.live.id}, process {history.live.pid})",
            hint="Ctrl+C in the terminal that runs it pauses it",
        )
    is_due = history.latest is not None and history.latest.review_state is ReviewState.DUE
    if not is_due or controller_holder(workspace.paths) is None:
        return
    for review in workspace.store.records.reviews(task.id).runs:
        if review.status is RunStatus.RUNNING and is_alive(review):
            raise RequestError(
                f"reviewers are looking at the change of {task.id} (run {review.id}, process {review.pid})",
                hint="Ctrl+C in the terminal that runs them stops them",
            )


def require_not_busy_task(workspace: Workspace, plan: Plan, parent_id: TaskId | None) -> None:
    """Refuse to make a task a parent while it is being worked on or decided: only leaves are executed."""
    if parent_id is None or not plan.tasks[parent_id].is_leaf:
        return
    parent, history = plan.tasks[parent_id], workspace.store.records.history(parent_id)
    require_not_busy(workspace, parent)
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


def find_pending(state: PlanState, task_id: TaskId, run_id: RunId | None) -> Run:
    """Return the run on which a decision is due.

    Raises RequestError when there is none, or another than ``run_id``, UnreadableRecordError.
    """
    require_usable(task_id, state.history(task_id))
    run = state.history(task_id).latest
    if run is not None and run_id is not None and run.id != run_id:
        raise RequestError(
            f"run {run_id} is not the latest of {task_id}: that is run {run.id}",
            hint="`git blackbird status` shows what is due",
        )
    alive = run is not None and run.is_pending and is_decision_alive(state.plan.tasks[task_id], run)
    if run is None or not alive:
        decision = run.decision_state if run is not None else None
        decided = f" (run {run.id} is {decision.value})" if run is not None and decision is not None else ""
        raise RequestError(
            f"no decision is pending on {task_id}{decided}", hint="`git blackbird status` shows what is due"
        )
    return run


def find_approvable(state: PlanState, task_id: TaskId, run_id: RunId | None, *, commits: bool) -> Run:
    """Return the run that an approval is about: one on which a decision is due, or one that failed.

    Where an approval ``commits``, also one that is done without it. Raises RequestError as
    ``find_pending`` does, and UnreadableRecordError.
    """
    run = state.history(task_id).latest
    if run is None or not run.is_ours or run_id not in {None, run.id}:
        return find_pending(state, task_id, run_id)
    require_usable(task_id, state.history(task_id))
    is_undecided_failure = run.status is RunStatus.FAILED and run.decision_state is None
    is_done = commits and state.plan.tasks[task_id].status == status_of_run(run) == Status.DONE
    return run if is_undecided_failure or is_done else find_pending(state, task_id, run_id)


def require_undecided(workspace: Workspace, run: Run) -> Run:
    """Return the record as it is under the lock: another command may have decided first.

    Raises RequestError then, and UnreadableRecordError.
    """
    history = workspace.store.records.history(run.task_id)
    require_usable(run.task_id, history)
    stored = history.find(run.id)
    if stored is None or stored.superseded_at or stored.decision_state is not run.decision_state:
        raise RequestError(f"run {run.id} of {run.task_id} was decided elsewhere meanwhile")
    return stored


def require_unclaimed(workspace: Workspace, task_id: TaskId) -> None:
    """Refuse to touch the runs of a task while the approval of one of them is being committed.

    Raises LockedError.
    """
    run_id = approval_in_progress(workspace.paths)
    if run_id is not None and workspace.store.records.history(task_id).find(run_id) is not None:
        raise LockedError(
            f"run {run_id} of {task_id} is being approved: its change is being committed",
            hint="wait for it; `git blackbird status` shows what became of it",
        )
