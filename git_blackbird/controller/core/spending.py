"""What was spent according to the records."""

from collections.abc import Collection

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.model.base.ids import PLANNING, RunId, TaskId
from git_blackbird.model.run.spent import Spent, spent_in, total_of


def spent_before(workspace: Workspace, task_id: TaskId | None, without: Collection[RunId] = ()) -> Spent:
    """Return what the runs of a task took, its reviews and those at work included; None: of all tasks.

    Tasks that left the plan are among them, records that cannot be read are not.
    """
    records, now = workspace.store.records, workspace.environment.timestamp()
    tasks = (*records.tasks(), PLANNING) if task_id is None else (task_id,)
    found = (run for one in tasks for run in (*records.history(one).runs, *records.reviews(one).runs))
    return total_of(spent_in(run, now) for run in found if run.id not in without)
