"""Decisions that are pending, and sessions that can or cannot go on."""

from typing import NamedTuple

from git_blackbird.model.history import History
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.run import Run, TerminalReason
from git_blackbird.model.standing import Standing


class Decide(NamedTuple):
    """A decision to take on a run."""

    task: Task
    run: Run


def is_session_lost(history: History, run: Run) -> bool:
    """Whether the provider refused to go on with this run's conversation, or it never had one."""
    return run.provider_session_ref is None or any(
        later.resumes == run.id and later.terminal_reason == TerminalReason.SESSION_LOST
        for later in history.own
    )


def pending_decisions(standing: Standing) -> tuple[Decide, ...]:
    """Every decision owed on a task of this plan, oldest first."""
    owed = [
        Decide(task, run)
        for task, run in standing.latest_runs()
        if run.is_pending and is_decision_alive(task, run)
    ]
    return tuple(sorted(owed, key=lambda due: due.run.sort_key))


def is_decision_alive(task: Task, run: Run) -> bool:
    """Whether a pending decision still matters: the Go program resets tasks without touching their runs."""
    return run.is_ours or task.status not in {Status.TODO, Status.QUEUED, Status.BLOCKED, Status.SKIPPED}
