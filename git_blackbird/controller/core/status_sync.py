"""Derive the plan's statuses from the records, and save the differences."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import TaskId, build_run_id
from git_blackbird.model.base.timestamps import format_timestamp, moment_of
from git_blackbird.model.change.change import Change
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.parts import LocalProcess, RemoteProcess
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import PROGRAM, DecisionState, RunStatus, superseded_text
from git_blackbird.storage.store import Transaction

_MILLISECOND = 1_000_000


class StatusUpdate(NamedTuple):
    """The state once every status follows from the records; old and new status of the leaves that moved."""

    state: PlanState
    moved: Mapping[TaskId, tuple[Status, Status]]


def save_statuses(transaction: Transaction, state: PlanState | None = None) -> StatusUpdate:
    """Save the plan where statuses that follow from the records differ; the state is read if not given."""
    if state is None:
        state = transaction.state()
    if state.plan is state.saved:
        return StatusUpdate(state, {})
    written = save_plan(transaction, state, state.plan, is_derived=True)
    if written is state.saved:
        return StatusUpdate(replace(state, saved_feedback=transaction.saved_feedback()), {})
    after = replace(state, saved=written, saved_feedback=transaction.saved_feedback())
    moved = {key: statuses for key, statuses in state.drift.items() if state.plan.tasks[key].is_leaf}
    return StatusUpdate(after, moved)


def save_status(transaction: Transaction, task_id: TaskId) -> None:
    """Derive and save the status of one task and all parents; read no other task's records."""
    state = transaction.state_of(task_id)
    if state.plan is not state.saved:
        save_plan(transaction, state, state.plan, is_derived=True)


def save_feedback_and_statuses(transaction: Transaction, state: PlanState) -> StatusUpdate:
    """Save the feedback of parent reviews, then the plan, as they follow from the records."""
    _save_feedback(transaction, state, {})
    return save_statuses(transaction, state)


def update_run(workspace: Workspace, run: Run, change: Callable[[Run], Run]) -> Run:
    """Change a run's record as it is under the lock, and save the statuses that follow."""
    with workspace.transaction() as transaction:
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        changed = change(stored)
        if changed is not stored:
            transaction.save_run(changed)
            save_status(transaction, run.task_id)
    return changed


def note_process(workspace: Workspace, run: Run, process: LocalProcess | RemoteProcess) -> None:
    with workspace.transaction() as transaction:
        stored = workspace.store.records.history(run.task_id).find(run.id) or run
        transaction.save_run(stored.updated(process=process))


def save_plan(
    transaction: Transaction,
    state: PlanState,
    after: Plan,
    by_hand: Collection[TaskId] = (),
    *,
    is_derived: bool = False,
) -> Plan:
    """Save the plan that ``state`` became, after the feedback, and return what was written.

    A verdict says nothing any more once the children that it is about have changed. The leaves that are
    ``done`` now, by a run that ended after their feedback or because a person says so (``by_hand``), have
    acted on it: it is marked first and dropped last, so that it is known after a crash whether the plan was
    saved. What ``is_derived`` follows from the records alone, and is not written while `git stash` has the
    plan: `git stash pop` brings that back over an unchanged file only.
    """
    settled = {
        task_id: after.tasks[task_id].updated_at
        for task_id, feedback in state.feedback.items()
        if task_id in after.tasks
        if state.saved.tasks[task_id].status != Status.DONE == after.tasks[task_id].status
        if task_id in by_hand or _has_acted(state.history(task_id), feedback)
    }
    _save_feedback(transaction, state, settled)
    written = state.written(after, by_hand)
    if is_derived and written is not state.saved and transaction.is_stashed:
        written = state.saved
    transaction.save_plan(written)
    for task_id in sorted(settled):
        transaction.drop_feedback(task_id)
    return written


def _has_acted(history: History, feedback: Feedback) -> bool:
    """Whether a leaf's status is that of a run after its feedback, and not only behind in an older plan."""
    standing = Change.of(history).standing
    since = None if standing is None else standing.since
    said_at = moment_of(feedback.updated_at)
    is_later = since is not None and (said_at is None or since > said_at)
    return is_later and not history.is_undelivered


def _save_feedback(transaction: Transaction, state: PlanState, settled: Mapping[TaskId, str]) -> None:
    saved = transaction.saved_feedback().by_leaf
    for task_id, feedback in state.feedback.items():
        wanted = feedback.settled(settled.get(task_id))
        if saved.get(task_id) != wanted:
            transaction.save_feedback(task_id, wanted)
    for task_id in (saved.keys() - state.feedback.keys()) & state.plan.tasks.keys():
        transaction.drop_feedback(task_id)


def supersede_runs(transaction: Transaction, history: History, now: str, by: str) -> tuple[Run, ...]:
    """Supersede every run of a history that still counts; return them as they were.

    A decision still pending becomes ``rejected`` and says what overtook it.
    """
    counting = tuple(run for run in history.work_runs if not run.is_superseded)
    for run in counting:
        marked = run.superseded(now, by)
        if run.decision_state is DecisionState.PENDING:
            marked = marked.decided(DecisionState.REJECTED, now, superseded_text(by))
        transaction.save_run(marked)
    return counting


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
        repo_root=str(workspace.paths.state_root),
        program=PROGRAM,
    )
