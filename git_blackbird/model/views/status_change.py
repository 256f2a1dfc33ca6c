"""The effects of a status set by hand, or of a retry."""

from dataclasses import dataclass

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Status
from git_blackbird.model.entities.run import Run


@dataclass(frozen=True)
class StatusChange:
    """The effects of a status change: the superseded runs, and the task's pending messages.

    ``dependents`` build on the task and are not undone; ``reopened`` parents changed with it. ``let_go`` is
    undelivered feedback of a review that was dropped.
    """

    task_id: TaskId
    status: Status
    overtaken: tuple[Run, ...] = ()
    pending: tuple[str, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    reopened: tuple[TaskId, ...] = ()
    let_go: Feedback | None = None
