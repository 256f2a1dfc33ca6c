"""What the runs of a task took according to its records."""

from collections.abc import Collection

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.rules.spending import Spent, spent_in, total_of

NO_RUNS: frozenset[RunId] = frozenset()


def spent_on_task(workspace: Workspace, task_id: TaskId, without: Collection[RunId] = NO_RUNS) -> Spent:
    """Return what the runs of a task and their reviews took, and those at work up to now.

    Records that cannot be read are left out: their task stands still.
    """
    records, now = workspace.store.records, workspace.environment.timestamp()
    runs = (*records.recorded(task_id).runs, *records.reviews(task_id).runs)
    return total_of(spent_in(run, now) for run in runs if run.id not in without)


def spent_on_plan(workspace: Workspace, without: Collection[RunId] = NO_RUNS) -> Spent:
    """Return what all runs that are recorded here took, with those of tasks that left the plan."""
    tasks = (*workspace.store.records.tasks(), PLANNING)
    return total_of(spent_on_task(workspace, task_id, without) for task_id in tasks)
