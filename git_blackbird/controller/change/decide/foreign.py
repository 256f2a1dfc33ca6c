"""Take over foreign runs, of the Go program or of a clone, and decisions on copies.

Nothing of them is acted on unless a person names them (SECURITY.md).
"""

from collections.abc import Iterator
from typing import NamedTuple

from git_blackbird.controller.core.guards import require_unclaimed
from git_blackbird.controller.core.status_sync import save_feedback_and_statuses
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.place import place_of
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId, task_id_fault
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS, RunStatus, RunType
from git_blackbird.storage.records import is_misnamed
from git_blackbird.storage.store import Transaction

_TAKEN = frozenset({RunType.EXECUTE, RunType.REVIEW, RunType.MANUAL})
_ACCEPT = "accept what was done elsewhere"


class TakenOver(NamedTuple):
    """A run, or a decision on it, that was taken over; ``status`` is its task's, None without a task."""

    run: Run
    status: Status | None


def accept_foreign(workspace: Workspace, task_id: str, named: str) -> TakenOver:
    """Take over the run from elsewhere, or the decision on a copy, whose run id begins with ``named``.

    Raises RequestError where there is none, and for an agent; SaveError.
    """
    workspace.environment.forbid_agents(_ACCEPT)
    with workspace.transaction() as transaction:
        history = _history(workspace, task_id)
        run = _find(task_id, named, (*history.beside.decided, *history.beside.foreign))
        return _save_runs(transaction, [_taken_over(workspace, history, run)])[0]


def accept_all_foreign(workspace: Workspace) -> list[TakenOver]:
    """Take over everything that blocks a task: newer foreign runs, and decisions on copies.

    Raises RequestError for an agent, SaveError.
    """
    workspace.environment.forbid_agents(_ACCEPT)
    with workspace.transaction() as transaction:
        taken = [
            _taken_over(workspace, history, run)
            for _, history in sorted(transaction.state().open_histories.items())
            for run in (*history.beside.decided, *_newer_foreign(history))
        ]
        return _save_runs(transaction, taken)


def reject_copy(workspace: Workspace, task_id: str, named: str) -> TakenOver:
    """Drop the decision on a copy: it is written again as its record is.

    Raises RequestError where there is none, and for an agent.
    """
    workspace.environment.forbid_agents("drop a decision")
    with workspace.transaction() as transaction:
        copy = _find(task_id, named, _history(workspace, task_id).beside.decided)
        transaction.write_copy(copy)
        return _update_statuses(transaction, [copy])[0]


def take_over_waiting(workspace: Workspace, task_id: str) -> Run | None:
    """Take over the foreign run of a named task that waits for a person, if the task has no run of ours.

    That is the latest run from elsewhere with a question, a decision or a change request, or with feedback
    of a parent's review for its session. Return it; None if there is nothing. Raises RequestError for an
    agent, SaveError.
    """
    if task_id_fault(task_id) is not None or workspace.store.records.history(TaskId(task_id)).recent:
        return None
    with workspace.transaction() as transaction:
        history = _history(workspace, task_id)
        feedback = workspace.foreign_feedback(history)
        run = history.foreign_waiting if feedback is None else history.foreign_latest
        if history.recent or run is None:
            return None
        workspace.environment.forbid_agents(_ACCEPT)
        if feedback is not None:
            transaction.save_feedback(TaskId(task_id), feedback)
        taken = _taken_over(workspace, history, run)
        transaction.save_run(taken)
        return taken


def _history(workspace: Workspace, task_id: str) -> History:
    if task_id_fault(task_id) is not None:
        raise RequestError(f"{quoted(task_id)} is no id of a task")
    return workspace.store.records.history(TaskId(task_id))


def _find(task_id: str, named: str, runs: tuple[Run, ...]) -> Run:
    found = [run for run in runs if run.id.startswith(named)]
    if len(found) != 1:
        which = "more than one run" if found else "no run"
        raise RequestError(
            f"{which} from elsewhere of {task_id} begins with {quoted(named)}",
            hint=task_command("runs", task_id, remark="lists them"),
        )
    return found[0]


def _newer_foreign(history: History) -> Iterator[Run]:
    if history.recent:
        yield from (run for run in history.beside.foreign if run.sort_key > history.recent[-1].sort_key)


def _taken_over(workspace: Workspace, history: History, run: Run) -> Run:
    """Return the record of a foreign run, or of one of ours that was decided on elsewhere.

    Raises RequestError for what cannot be taken over, LockedError.
    """
    require_unclaimed(workspace, run.task_id)
    ours = history.find(run.id)
    if ours is not None:
        return _with_decision_of(workspace, ours, run)
    fault = None
    if run.status is RunStatus.RUNNING:
        fault = "has not ended"
    elif run.run_type not in _TAKEN:
        fault = "is the review of a change"
    elif is_misnamed(run, workspace.environment.now()):
        fault = "did not begin when its id says"
    if fault is not None:
        raise RequestError(f"run {run.id} of {run.task_id} {fault}: it counts only where it was made")
    return run.taken_over()


def _with_decision_of(workspace: Workspace, ours: Run, copy: Run) -> Run:
    branch = place_of(workspace, ours).commit_branch if copy.decision_state in APPROVALS else None
    at = copy.decision_resolved_at or workspace.environment.timestamp()
    decided = ours.decided(copy.decision_state, at, copy.decision_feedback)
    return decided.updated(approved_on=branch)


def _save_runs(transaction: Transaction, taken: list[Run]) -> list[TakenOver]:
    for run in taken:
        transaction.save_run(run)
    return _update_statuses(transaction, taken)


def _update_statuses(transaction: Transaction, taken: list[Run]) -> list[TakenOver]:
    tasks = save_feedback_and_statuses(transaction, transaction.state()).state.plan.tasks
    return [
        TakenOver(run, None if (task := tasks.get(run.task_id)) is None else task.status) for run in taken
    ]
