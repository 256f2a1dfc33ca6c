"""The work of a task: all that its changes brought into the user's worktree, and what was taken back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import MESSAGE, TaskCommand, task_command
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState


@dataclass(frozen=True)
class Work:
    """What undo, redo and ``branch`` are about."""

    history: History

    @classmethod
    def of(cls, history: History) -> "Work":
        """Return the work of the task whose runs these are."""
        return cls(history)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The runs after the last whose change was taken back, oldest first."""
        own = self.history.work_runs
        return own[_end_of_undone(own) :]

    @cached_property
    def undone(self) -> tuple[Run, ...]:
        """The runs whose change was taken back last."""
        own = self.history.work_runs
        end = _end_of_undone(own)
        return own[_end_of_undone(own[: max(end - 1, 0)]) : end]

    @property
    def is_in_worktree(self) -> bool:
        """Whether it is known that the user's worktree has something of it."""
        return any(run.has_changed_worktree for run in self.runs)


def undo_commands(run: Run) -> tuple[TaskCommand, ...]:
    """Return the command that takes the change of a rejected run back; none if it was, or is empty."""
    is_rejected = run.decision_state is DecisionState.REJECTED and run.undone is None
    return (task_command("undo", run.task_id),) if is_rejected and run.has_changed_worktree else ()


def way_on(task_id: TaskId, run: Run | None) -> TaskCommand:
    """Return the command that goes on with a failed task, whose newest run this is."""
    undone = None if run is None else run.undone
    return task_command("redo" if undone is not None and undone.redone else "retry", task_id)


def ways_on(run: Run) -> tuple[TaskCommand, ...]:
    """Return how to go on with a task whose newest change was rejected or taken back; () for another."""
    stage, task_id = stage_of(run), run.task_id
    if stage not in {Stage.REJECTED, Stage.UNDONE}:
        return ()
    redo = (task_command("redo", task_id),) if stage is Stage.UNDONE else ()
    tell = (task_command("resume", task_id, blank=MESSAGE),) if run.provider_session_ref else ()
    again = task_command("retry", task_id), task_command("restart", task_id)
    return (*redo, *undo_commands(run), *tell, *again)


def _end_of_undone(own: Sequence[Run]) -> int:
    """Return how many runs there are up to the last whose change was taken back."""
    return next((end for end in range(len(own), 0, -1) if own[end - 1].undone is not None), 0)
