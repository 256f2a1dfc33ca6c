"""Finding the run that a decision is about, before and under the store lock."""

from git_blackbird.controller.unreadable import require_usable
from git_blackbird.errors import LockedError, RequestError
from git_blackbird.model.decisions import is_decision_alive
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.run import Run, RunStatus
from git_blackbird.model.status import status_of_run
from git_blackbird.storage.store import Image, Transaction


def find_pending(image: Image, task_id: TaskId, run_id: RunId | None) -> Run:
    """Give the run on which a decision is due.

    Raises RequestError when there is none, or another than ``run_id``, UnreadableRecordError.
    """
    require_usable(task_id, image.history(task_id))
    run = image.history(task_id).latest
    if run is not None and run_id is not None and run.id != run_id:
        raise RequestError(
            f"run {run_id} is not the latest of {task_id}: that is run {run.id}",
            hint="`git blackbird status` shows what is due",
        )
    alive = run is not None and run.is_pending and is_decision_alive(image.plan.tasks[task_id], run)
    if run is None or not alive:
        state = run.decision_state if run is not None else None
        decided = f" (run {run.id} is {state.value})" if run is not None and state is not None else ""
        raise RequestError(
            f"no decision is pending on {task_id}{decided}", hint="`git blackbird status` shows what is due"
        )
    return run


def find_approvable(image: Image, task_id: TaskId, run_id: RunId | None, *, commits: bool) -> Run:
    """Return the run that an approval is about: one on which a decision is due, or one that failed.

    Where an approval ``commits``, also one that is done without it. Raises RequestError as
    ``find_pending`` does, and UnreadableRecordError.
    """
    run = image.history(task_id).latest
    if run is None or not run.is_ours or run_id not in {None, run.id}:
        return find_pending(image, task_id, run_id)
    require_usable(task_id, image.history(task_id))
    is_undecided_failure = run.status is RunStatus.FAILED and run.decision_state is None
    is_done = commits and image.plan.tasks[task_id].status == status_of_run(run) == Status.DONE
    return run if is_undecided_failure or is_done else find_pending(image, task_id, run_id)


def require_undecided(transaction: Transaction, run: Run) -> Run:
    """Return the record as it is under the lock: someone may have been faster to decide.

    Raises RequestError then, and UnreadableRecordError.
    """
    history = transaction.history(run.task_id)
    require_usable(run.task_id, history)
    stored = history.find(run.id)
    if stored is None or stored.superseded_at or stored.decision_state is not run.decision_state:
        raise RequestError(f"run {run.id} of {run.task_id} was decided elsewhere meanwhile")
    return stored


def require_unclaimed(transaction: Transaction, task_id: TaskId) -> None:
    """Refuse to touch the runs of a task while the approval of one of them is being committed.

    Raises LockedError.
    """
    run_id = transaction.run_being_approved()
    if run_id is not None and transaction.history(task_id).find(run_id) is not None:
        raise LockedError(
            f"run {run_id} of {task_id} is being approved: its change is being committed",
            hint="wait for it; `git blackbird status` shows what became of it",
        )
