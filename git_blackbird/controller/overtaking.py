"""Runs that a person or a later start overtakes: they stay in history and count for nothing else."""

from git_blackbird.model.ids import TaskId
from git_blackbird.model.run import DecisionState, Run, TerminalReason
from git_blackbird.storage.store import Transaction


def overtake_runs(transaction: Transaction, task_id: TaskId, by: str, now: str) -> tuple[Run, ...]:
    """Mark every run of a task that still counts, but for the run ``by``; gives them as they were.

    A decision still pending becomes ``rejected`` and says what overtook it. Raises SaveError.
    """
    counting = [run for run in transaction.history(task_id).own if run.superseded_at is None and run.id != by]
    for run in counting:
        transaction.save_run(_overtaken(run, by, now))
    return tuple(counting)


def _overtaken(run: Run, by: str, now: str) -> Run:
    marked = run.with_fields(superseded_at=now, superseded_by=by)
    if run.decision_state is not DecisionState.PENDING:
        return marked
    return marked.with_fields(
        decision_state=DecisionState.REJECTED,
        decision_resolved_at=now,
        decision_feedback=f"superseded by {by}",
        terminal_reason=TerminalReason.REJECTED,
    )
