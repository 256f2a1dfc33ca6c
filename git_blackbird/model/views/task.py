"""One task, with everything that follows for it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.change.stages import label_of
from git_blackbird.model.plan.graph import Readiness
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.run.history import Adoptable, History, RecordError


class TaskView(NamedTuple):
    """One task with everything that follows for it.

    ``due`` is what is due of it, ``words`` what the task must still hear, ``unreadable`` what cannot be read
    of all that is recorded of it, ``skipped`` the children that nobody does, ``undo`` how a rejected change
    is taken back; ``adoptable`` is what another program or clone did of it.
    """

    task: Task
    label: str
    readiness: Readiness
    dependents: tuple[Task, ...]
    deps: tuple[Task, ...]
    history: History
    due: tuple[Item, ...]
    words: PendingMessages
    unreadable: tuple[RecordError, ...] = ()
    skipped: tuple[TaskId, ...] = ()
    undo: tuple[TaskCommand, ...] = ()
    adoptable: tuple[Adoptable, ...] = ()
    labels: Mapping[TaskId, str] = MappingProxyType({})
    """Of the tasks that it depends on, and that depend on it."""

    @property
    def state_text(self) -> str:
        """The label of the task, with what its newest change says beyond that."""
        run = self.history.latest
        more = "" if run is None else label_of(run).removeprefix("failed: ")
        is_said = more in ("", self.label.lower().replace("_", " "))
        return self.label if is_said else f"{self.label}: {more}"
