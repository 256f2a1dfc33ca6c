"""Recording a decision: under the store lock, from anywhere, once."""

from dataclasses import dataclass

from git_blackbird.controller.checkpoints import change_of, moved_paths, request_obstacle
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.git.changes import restore_command
from git_blackbird.model.change import TreePair
from git_blackbird.model.choices import Decision
from git_blackbird.model.commands import task_command
from git_blackbird.model.due import is_decision_alive
from git_blackbird.model.history import since_done
from git_blackbird.model.ids import RunId, TaskId
from git_blackbird.model.run import DecisionState, Run, TerminalReason
from git_blackbird.storage.store import Image, Transaction


@dataclass(frozen=True)
class Recorded:
    """What a decision led to: the record, paths that differ by now, how a rejected change is undone."""

    run: Run
    moved: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()


def record_decision(
    workspace: Workspace, task_id: str, decision: Decision, run_id: RunId | None = None
) -> Recorded:
    """Record a decision on a task's pending run, and what follows from it for the plan.

    With ``run_id`` the decision is about that run only. Raises RequestError when there is nothing to
    decide, or when changes are requested of a session that cannot go on; nothing is recorded then.
    """
    workspace.require_person("decide")
    image = workspace.store.image()
    task = find_task(image.plan, task_id)
    run = _pending(image, task.id, run_id)
    if decision.state is DecisionState.CHANGES_REQUESTED:
        _check_request(workspace, image, run, decision)
    pair, _ = change_of(workspace, image, run, since_done(image.history(task.id)))
    moved = moved_paths(workspace, pair)
    with workspace.store.transaction() as transaction:
        decided = _record(workspace, transaction, run, decision, pair)
        save_statuses(workspace, transaction)
    return Recorded(decided, moved, _undo(workspace, decision, pair))


def _undo(workspace: Workspace, decision: Decision, pair: TreePair | None) -> tuple[str, ...]:
    """Give the commands that take a rejected change back; a person runs them, never this program."""
    if decision.state is not DecisionState.REJECTED or pair is None or pair.base == pair.head:
        return ()
    return restore_command(workspace.repo, pair, workspace.world.cwd)


def _pending(image: Image, task_id: TaskId, run_id: RunId | None) -> Run:
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


def _check_request(workspace: Workspace, image: Image, run: Run, decision: Decision) -> None:
    if not (decision.feedback or "").strip():
        raise RequestError("change request cannot be empty", hint="-m TEXT or -F FILE")
    obstacle = request_obstacle(workspace, image.history(run.task_id), run)
    if obstacle is not None:
        raise RequestError(
            f"changes cannot be requested: {obstacle}",
            hint=task_command("restart", run.task_id, " -m TEXT    # a new session, told TEXT"),
        )


def _record(
    workspace: Workspace, transaction: Transaction, run: Run, decision: Decision, pair: TreePair | None
) -> Run:
    """Write the decision on the record as it is under the lock: someone may have been faster."""
    stored = transaction.history(run.task_id).find(run.id)
    if stored is None or not stored.is_pending:
        raise RequestError(f"run {run.id} of {run.task_id} was decided elsewhere meanwhile")
    rejected = decision.state is DecisionState.REJECTED
    decided = stored.with_fields(
        decision_state=decision.state,
        decision_resolved_at=workspace.world.timestamp(),
        decision_feedback=decision.feedback,
        decided_trees=None if pair is None else {"base": pair.base, "head": pair.head},
        terminal_reason=TerminalReason.REJECTED if rejected else stored.terminal_reason,
    )
    transaction.save_run(decided)
    return decided
