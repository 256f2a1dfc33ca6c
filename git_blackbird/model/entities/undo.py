"""Which runs were taken back, and the command that takes one back. Small: readers load it."""

from collections.abc import Sequence

from git_blackbird.model.entities.cli_hints import TaskCommand, task_command
from git_blackbird.model.entities.run import DecisionState, Run


def undo_commands(run: Run) -> tuple[TaskCommand, ...]:
    """Return the command that takes the change of a rejected run back; none if it was, or is empty."""
    is_rejected = run.decision_state is DecisionState.REJECTED and run.undone_at is None
    return (task_command("undo", run.task_id),) if is_rejected and run.has_changed_worktree else ()


def runs_since_undo(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs after the last whose change was taken back."""
    return tuple(runs[len(_up_to_undone(runs)) :])


def undone_runs(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs whose change was taken back last."""
    undone = _up_to_undone(runs)
    return undone[len(_up_to_undone(undone[:-1])) :]


def _up_to_undone(runs: Sequence[Run]) -> tuple[Run, ...]:
    ends = [end for end, run in enumerate(runs, 1) if run.undone_at is not None]
    return tuple(runs[: ends[-1]]) if ends else ()
