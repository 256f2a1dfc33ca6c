"""Runs of the same tasks in other worktrees, each of which has its own records."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from git_blackbird.controller.core.guards import is_alive
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import BlackbirdError, LockedError
from git_blackbird.git.core.repository import other_worktrees
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.run import Run
from git_blackbird.storage.paths import Paths
from git_blackbird.storage.store import Store

_AT_WORK = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.FAILED})


class RunElsewhere(NamedTuple):
    """A run in another worktree, ``place``, that is at work, or on which a decision is pending."""

    run: Run
    place: str

    @property
    def text(self) -> str:
        if self.run.is_pending:
            return f"a decision on run {self.run.id} is pending in {self.place}"
        return f"run {self.run.id} (process {self.run.pid}) works on it in {self.place}"


_ELSEWHERE = "finish it in that worktree, or retry it there to give it up"


class BegunElsewhereError(LockedError): ...


def require_not_elsewhere(workspace: Workspace, task_id: TaskId) -> None:
    for other in runs_elsewhere(workspace, {task_id}):
        raise BegunElsewhereError(f"{task_id} is not started: {other.text}", hint=_ELSEWHERE)


def runs_elsewhere(
    workspace: Workspace, task_ids: Collection[TaskId] | None = None
) -> Iterator[RunElsewhere]:
    """Yield the active runs of these tasks, or of the whole plan, in other worktrees.

    A worktree that cannot be read has none. Other worktrees are those besides the one whose plan this is,
    also where a task works in its own.
    """
    for other in other_worktrees(workspace.home):
        paths = Paths(other.top, other.private_dir)
        store = Store(paths, workspace.store.hold, workspace.store.redactor)
        try:
            if not store.paths.runs.is_dir():
                continue
            wanted = workspace.store.plan().tasks if task_ids is None else task_ids
            for task in (one for one in store.plan().tasks.values() if one.id in wanted):
                run = _active_run(store, task) if task.is_leaf and task.status in _AT_WORK else None
                if run is not None:
                    yield RunElsewhere(run, str(other.top))
        except (BlackbirdError, OSError):
            continue


def _active_run(store: Store, task: Task) -> Run | None:
    history = store.records.history(task.id)
    if history.live is not None and is_alive(history.live):
        return history.live
    run = history.latest
    return run if run is not None and run.is_pending else None
