"""What a status set by hand, or a retry, led to."""

from dataclasses import dataclass

from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Status
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run


@dataclass(frozen=True)
class Reset:
    """What a status change led to: the runs it overtook, and what the task must still hear.

    ``dependents`` built on the task and are not undone; ``reopened`` parents changed with it. ``let_go`` is
    what a review left owed and nobody heard.
    """

    task_id: TaskId
    status: Status
    overtaken: tuple[Run, ...] = ()
    owed: tuple[str, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    reopened: tuple[TaskId, ...] = ()
    let_go: Feedback | None = None
