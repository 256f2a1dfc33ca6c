"""The time and cost of tasks, read on demand: older records lie on disk."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History
from git_blackbird.model.run.spent import Spent, spent_in, total_of


def spent_on(history: History) -> Spent:
    """Add up the runs of a task that have ended; its reviews count for time and cost, and not as tries."""
    ended = [run for run in history.runs if run.completed_at is not None]
    tries = sum(not run.is_review for run in ended)
    return replace(total_of(spent_in(run, "") for run in ended), runs=tries)


class SpentCache:
    """Adds up each history once."""

    def __init__(self) -> None:
        self._known: dict[TaskId, tuple[History, Spent]] = {}

    def look_up(self, state: PlanState, tasks: Iterable[Task]) -> Mapping[TaskId, Spent]:
        """Return what was spent on the tasks that have runs."""
        found = {}
        for task in tasks:
            history = state.history(task.id)
            if not history.recent:
                continue
            known = self._known.get(task.id)
            if known is None or known[0] is not history:
                known = self._known[task.id] = history, spent_on(history)
            found[task.id] = known[1]
        return found
