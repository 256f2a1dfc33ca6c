"""Deriving the plan's statuses from the records and saving what differs."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.plan import Plan
from git_blackbird.model.entities.run import (
    RECORDER,
    DecisionState,
    Run,
    RunFields,
    RunStatus,
    TerminalReason,
    superseded_text,
)
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.reviews import Transition
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import apply_gates, apply_statuses, derive_leaves
from git_blackbird.storage.store import Transaction

_MILLISECOND = 1_000_000


class StatusUpdate(NamedTuple):
    """The state once every status follows from the records; old and new status of the leaves that moved."""

    state: PlanState
    moved: Mapping[TaskId, tuple[Status, Status]]


def save_statuses(workspace: Workspace, transaction: Transaction) -> StatusUpdate:
    """Derive every status again and save the plan where it differs."""
    return _save(workspace, transaction, transaction.state())


def save_status(workspace: Workspace, transaction: Transaction, task_id: TaskId) -> None:
    """Do the same for one task and all parents, when only its records have changed; read no others."""
    _save(workspace, transaction, transaction.state_of(task_id))


def save_feedback_and_statuses(
    workspace: Workspace, transaction: Transaction, state: PlanState
) -> StatusUpdate:
    """Save the feedback of parent reviews, then the plan, as they follow from the records."""
    _save_feedback(transaction, state, {})
    return _save(workspace, transaction, state)


def update_run(workspace: Workspace, run: Run, change: Callable[[Run], Run]) -> Run:
    """Change a run's record as it is under the lock, and save the statuses that follow."""
    with workspace.transaction() as transaction:
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        changed = change(stored)
        if changed is not stored:
            transaction.save_run(changed)
            save_status(workspace, transaction, run.task_id)
    return changed


def note_on_run(workspace: Workspace, run: Run, fields: RunFields) -> None:
    """Note what no status follows from in a run's record, as that is under the lock."""
    with workspace.transaction() as transaction:
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        transaction.save_run(stored.with_fields(fields))


def _save(workspace: Workspace, transaction: Transaction, state: PlanState) -> StatusUpdate:
    settled, wanted = derive_plan(state.plan, state.histories, workspace.transition(state.histories))
    if settled is state.plan:
        return StatusUpdate(state, {})
    delivered = [task_id for task_id in wanted if not state.history(task_id).is_undelivered]
    save_plan(transaction, state, settled, delivered)
    moved = {task_id: (state.plan.tasks[task_id].status, status) for task_id, status in wanted.items()}
    return StatusUpdate(replace(state, plan=settled, saved_feedback=transaction.saved_feedback()), moved)


def derive_plan(
    plan: Plan, histories: Mapping[TaskId, History], moment: Transition
) -> tuple[Plan, Mapping[TaskId, Status]]:
    """Return the plan with every status that follows from the records, and which leaves became what."""
    wanted = derive_leaves(plan, histories)
    followed = apply_statuses(plan, wanted, moment) if wanted else plan
    return apply_gates(followed, moment), wanted


def save_plan(
    transaction: Transaction, state: PlanState, after: Plan, delivered: Iterable[TaskId] = ()
) -> None:
    """Save what the plan of ``state`` became, and the feedback before it.

    A verdict says nothing any more once the children that it is about have changed. The ``delivered`` leaves
    that are ``done`` now have acted on their feedback: it is marked first and dropped last, so that it is
    known after a crash whether the plan was saved.
    """
    settled = {
        task_id: after.tasks[task_id].updated_at
        for task_id in delivered
        if task_id in state.feedback and task_id in after.tasks
        if state.plan.tasks[task_id].status != Status.DONE == after.tasks[task_id].status
    }
    _save_feedback(transaction, state, settled)
    transaction.save_plan(after)
    for task_id in sorted(settled):
        transaction.drop_feedback(task_id)


def _save_feedback(transaction: Transaction, state: PlanState, settled: Mapping[TaskId, str]) -> None:
    """Make the files what follows from the records, some marked as settled at a time."""
    saved = transaction.saved_feedback().by_leaf
    for task_id, feedback in state.feedback.items():
        wanted = feedback.settled(settled.get(task_id))
        if saved.get(task_id) != wanted:
            transaction.save_feedback(task_id, wanted)
    for task_id in (saved.keys() - state.feedback.keys()) & state.plan.tasks.keys():
        transaction.drop_feedback(task_id)


def supersede_runs(
    workspace: Workspace, transaction: Transaction, task_id: TaskId, by: str
) -> tuple[Run, ...]:
    """Mark every run of a task that still counts, but for the run ``by``; return them as they were.

    A decision still pending becomes ``rejected`` and says what overtook it.
    """
    now, own = workspace.environment.timestamp(), workspace.store.records.history(task_id).own
    counting = tuple(run for run in own if run.superseded_at is None and run.id != by)
    for run in counting:
        transaction.save_run(_overtaken(run, by, now))
    return counting


def _overtaken(run: Run, by: str, now: str) -> Run:
    marked = run.superseded(now, by)
    if run.decision_state is not DecisionState.PENDING:
        return marked
    return marked.with_fields(
        RunFields(
            decision_state=DecisionState.REJECTED,
            decision_resolved_at=now,
            decision_feedback=superseded_text(by),
            terminal_reason=TerminalReason.REJECTED,
        )
    )


def new_run(workspace: Workspace, task_id: TaskId, status: RunStatus) -> Run:
    """Make the record of a new run, which starts after the task's last even when the clock was set back."""
    history = workspace.store.records.history(task_id)
    newest = max((run.sort_key[0] for run in history.runs), default=0)
    started = max(workspace.environment.now(), newest + _MILLISECOND)
    return Run(
        id=build_run_id(started, workspace.environment.random_bits(16)),
        task_id=task_id,
        started_at=format_timestamp(started),
        status=status,
        recorder=RECORDER,
        repo_root=str(workspace.paths.state_root),
    )
