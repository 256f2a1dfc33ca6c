"""Which other tasks an agent is told of: those under way beside its own, and those that landed meanwhile."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.plan.named_paths import named_paths
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import Requester


class OtherTask(NamedTuple):
    """A task, with the files that its change has, or as long as it has not landed, that its text names."""

    task: Task
    files: tuple[str, ...]


class OtherTasks(NamedTuple):
    """The tasks under way, smallest id first, and those that landed, newest first."""

    under_way: tuple[OtherTask, ...] = ()
    landed: tuple[OtherTask, ...] = ()


def other_tasks(
    state: PlanState, task_id: TaskId, starting: Collection[TaskId], since: str | None
) -> OtherTasks:
    """Return the tasks that are not done beside one, and those that landed ``since`` then.

    ``starting`` are tasks about to be worked on that have no record of it yet. None landed since None.
    """
    tasks = state.plan.tasks
    open_ones = {task.id for task, _ in state.open_runs}
    under_way = sorted((open_ones | {*starting}) & tasks.keys() - {task_id})
    landed = [] if since is None else sorted(_landed(state, since), key=lambda pair: pair[0], reverse=True)
    return OtherTasks(
        tuple(OtherTask(tasks[other], tuple(sorted(named_paths(tasks[other])))) for other in under_way),
        tuple(
            OtherTask(tasks[run.task_id], () if run.review_summary is None else run.review_summary.files)
            for _, run in landed
            if run.task_id not in {task_id, *under_way}
        ),
    )


def _landed(state: PlanState, since: str) -> Iterator[tuple[float, Run]]:
    """Yield the changes that came into the user's worktree since then and still are there, and how late."""
    for _, run in state.latest_runs:
        if run.undone is None and run.has_changed_worktree:
            later = seconds_between(since, (run.landed_at if run.worktree_path else run.completed_at) or "")
            if later is not None and later > 0:
                yield later, run


def based_at(resumed: Run) -> str | None:
    """Return when the files were taken that a resumed run worked on; None where a new worktree is made."""
    worktree = resumed.worktree
    return None if resumed.has_landed or worktree is None else worktree.base_at


def brought_at(resumed: Run) -> str | None:
    """Return the same of the files that the next run of its session works on.

    Where a landing sent the session back with a merge, its worktree has been brought that.
    """
    is_brought = resumed.requested_by is Requester.LANDING and resumed.brought is not None
    return resumed.decision_requested_at if is_brought else based_at(resumed)
