"""Where things stand: everything that what is due follows from."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from git_blackbird.model.gate import Gate
from git_blackbird.model.history import NO_HISTORY, History, OwedWords, RecordFault, owed_words
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run


class Standing(NamedTuple):
    """Plan and records at one moment, what reviews left owed to which leaf, and whether parents are gated.

    ``unreadable`` are the tasks of the plan that a record which cannot be used stops: nothing is concluded
    beside it.
    """

    plan: Plan
    histories: Mapping[TaskId, History]
    feedback: Mapping[TaskId, Feedback] = {}
    is_gated: bool = False
    unreadable: Mapping[TaskId, tuple[RecordFault, ...]] = {}

    @property
    def gate(self) -> Gate:
        """What decides over parents."""
        return Gate(self.is_gated, self.histories)

    def history(self, task_id: TaskId) -> History:
        """Give the runs of one task, none when it has none."""
        return self.histories.get(task_id, NO_HISTORY)

    def owed_words(self, task_id: TaskId) -> OwedWords:
        """Give what a task must still hear."""
        return owed_words(self.history(task_id), self.feedback.get(task_id))

    def latest(self, task_id: TaskId) -> Run | None:
        """Give the run of a task that counts."""
        return self.history(task_id).latest

    def latest_runs(self) -> Iterator[tuple[Task, Run]]:
        """Yield each task that nothing stops with the run of it that counts, smallest id first."""
        for task_id in sorted(self.histories.keys() & self.plan.tasks.keys() - self.unreadable.keys()):
            run = self.histories[task_id].latest
            if run is not None:
                yield self.plan.tasks[task_id], run
