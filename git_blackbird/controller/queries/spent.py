"""The time and cost of tasks, read on demand: older records lie on disk."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.change.change import total_cost
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History


class Spent(NamedTuple):
    """The runs of a task that have ended: how many, their seconds in total, and their dollars if known."""

    runs: int
    seconds: float
    cost_usd: float | None


def spent_on(history: History) -> Spent:
    """Add up the runs of a task; its reviews count for time and cost, and not as tries."""
    ended = [run for run in history.runs if run.completed_at is not None]
    lengths = (seconds_between(run.started_at, run.completed_at or "") for run in ended)
    tries = sum(not run.is_review for run in ended)
    return Spent(tries, sum(max(length or 0.0, 0.0) for length in lengths), total_cost(ended))


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
