"""The histories of many tasks, most of which are done with."""

from collections.abc import Mapping

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import Change
from git_blackbird.model.run.history import History


class Histories(dict[TaskId, History]):
    """The runs of many tasks; those in ``open`` are not closed: of a large plan the few."""

    def __init__(self, histories: Mapping[TaskId, History], open_ones: Mapping[TaskId, History]) -> None:
        super().__init__(histories)
        self.open = open_ones


def open_histories(histories: Mapping[TaskId, History]) -> Mapping[TaskId, History]:
    """Return the histories from which more follows than that a task is done."""
    if isinstance(histories, Histories):
        return histories.open
    return {task_id: history for task_id, history in histories.items() if not Change.of(history).is_closed}
