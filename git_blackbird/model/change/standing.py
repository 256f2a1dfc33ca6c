"""What the newest run of each task makes of its status, and which histories are done with."""

from collections.abc import Mapping
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import Moment
from git_blackbird.model.change.stages import Stage, is_settled, stage_of, status_of
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import History


class Standing(NamedTuple):
    """The status of a task as its records have it, and when that began."""

    status: Status
    since: Moment | None


def standing_of(history: History) -> Standing | None:
    """Return the status of a leaf by its latest run; None if its runs do not determine it."""
    if history.faults or history.latest is None:
        return None
    return Standing(status_of(history.latest), history.latest.moved_at)


def is_closed(history: History) -> bool:
    """Whether the task is done by its records, and nothing else follows from any of them."""
    if not history.recent or history.faults:
        return False
    last = history.recent[-1]
    is_done = last.counts and stage_of(last) is Stage.DONE
    return is_done and all(map(is_settled, history.recent))


class Histories(dict[TaskId, History]):
    """The runs of many tasks; those in ``open`` are not closed: of a large plan the few."""

    def __init__(self, histories: Mapping[TaskId, History], open_ones: Mapping[TaskId, History]) -> None:
        super().__init__(histories)
        self.open = open_ones


def open_histories(histories: Mapping[TaskId, History]) -> Mapping[TaskId, History]:
    """Return the histories from which more follows than that a task is done."""
    if isinstance(histories, Histories):
        return histories.open
    return {task_id: history for task_id, history in histories.items() if not is_closed(history)}
