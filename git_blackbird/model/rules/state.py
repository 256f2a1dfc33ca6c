"""The state of one worktree at one moment, and what follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import (
    NO_FEEDBACK,
    NO_HISTORY,
    History,
    PendingMessages,
    RecordError,
    SavedFeedback,
    pending_messages,
)
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.rules.review_feedback import outstanding_feedback
from git_blackbird.model.rules.review_gate import ReviewGate


@dataclass(frozen=True)
class PlanState:
    """Plan, records and feedback files as they were read, and whether parents are reviewed (``is_gated``).

    What follows from them is derived where it is first asked for, once.
    """

    plan: Plan
    histories: Mapping[TaskId, History]
    saved_feedback: SavedFeedback = NO_FEEDBACK
    is_gated: bool = False

    @cached_property
    def feedback(self) -> Mapping[TaskId, Feedback]:
        """The open feedback of parent reviews, by leaf."""
        return outstanding_feedback(self.plan, self.histories, self.saved_feedback.by_leaf)

    @cached_property
    def unreadable(self) -> Mapping[TaskId, tuple[RecordError, ...]]:
        """The tasks of the plan that are blocked by a record or feedback file that cannot be used."""
        broken = {TaskId(PurePath(fault.path).stem): (fault,) for fault in self.saved_feedback.faults}
        suspects = self.histories.keys() | broken.keys() - self.feedback.keys()
        return {
            task_id: faults
            for task_id in sorted(self.plan.tasks.keys() & suspects)
            if (faults := (*self.history(task_id).faults, *broken.get(task_id, ())))
        }

    @cached_property
    def latest_runs(self) -> tuple[tuple[Task, Run], ...]:
        """The latest run of each task that no record blocks, smallest id first."""
        readable = self.histories.keys() & self.plan.tasks.keys() - self.unreadable.keys()
        return tuple(
            (self.plan.tasks[task_id], run)
            for task_id in sorted(readable)
            if (run := self.histories[task_id].latest) is not None
        )

    @property
    def gate(self) -> ReviewGate:
        """The gate in front of every parent."""
        return ReviewGate(self.is_gated, self.histories)

    def history(self, task_id: TaskId) -> History:
        """Return the runs of one task, none when it has none."""
        return self.histories.get(task_id, NO_HISTORY)

    def latest(self, task_id: TaskId) -> Run | None:
        """Return the latest run of a task that is not superseded and no reviewer's."""
        return self.history(task_id).latest

    def pending_messages(self, task_id: TaskId) -> PendingMessages:
        """Return what a task's agent must still be told."""
        return pending_messages(self.history(task_id), self.feedback.get(task_id))
