"""Pending decisions, paused runs, and lost sessions."""

from typing import NamedTuple

from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.plan import Status, Task
from git_blackbird.model.entities.run import Run, RunStatus, TerminalReason
from git_blackbird.model.rules.state import PlanState

_LIMITS = frozenset({TerminalReason.WALL_LIMIT, TerminalReason.IDLE_LIMIT})


class PendingDecision(NamedTuple):
    """A pending decision on a run."""

    task: Task
    run: Run


def is_session_lost(history: History, run: Run) -> bool:
    """Whether the provider refused to continue this run's conversation, or it never had one."""
    return run.provider_session_ref is None or any(
        later.resumes == run.id and later.terminal_reason == TerminalReason.SESSION_LOST
        for later in history.own
    )


def pending_decisions(state: PlanState) -> tuple[PendingDecision, ...]:
    """Return every pending decision on a task of this plan, oldest first."""
    owed = [
        PendingDecision(task, run)
        for task, run in state.latest_runs
        if run.is_pending and is_decision_alive(task, run)
    ]
    return tuple(sorted(owed, key=lambda due: due.run.sort_key))


def is_decision_alive(task: Task, run: Run) -> bool:
    """Whether a pending decision still matters: the Go program resets tasks without touching their runs."""
    return run.is_ours or task.status not in {Status.TODO, Status.QUEUED, Status.BLOCKED, Status.SKIPPED}


def paused_runs(state: PlanState) -> tuple[tuple[Task, Run], ...]:
    """Return every task of this plan with a paused run, and that run, oldest first."""
    paused = [(task, run) for task, run in state.latest_runs if run.status is RunStatus.PAUSED]
    return tuple(sorted(paused, key=lambda pair: pair[1].sort_key))


def stopped_at_limit(run: Run) -> bool:
    """Whether a run was paused by its time limit, not from outside."""
    return run.terminal_reason in _LIMITS
