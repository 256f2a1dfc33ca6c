"""Which statuses are written into the plan where only those that last are (``plan.statuses``)."""

from collections.abc import Collection
from dataclasses import replace

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status

_LASTING = frozenset({Status.DONE, Status.SKIPPED, Status.BLOCKED})


def with_lasting_statuses(saved: Plan, after: Plan, by_hand: Collection[TaskId] = ()) -> Plan:
    """Return the plan to write where ``saved`` is to become ``after``; ``saved`` itself if nothing lasts.

    A status that passes is derived from the records by everyone who reads them: it leaves the task as it is
    written, its time included, unless a person set it (``by_hand``). A task that is no longer over is
    ``todo`` again.
    """
    changed = [
        written
        for task in after.tasks.values()
        if task.id not in by_hand and (written := _written(saved.tasks.get(task.id), task)) is not task
    ]
    plan = after.replaced(*changed) if changed else after
    return saved if plan.tasks == saved.tasks else plan


def _written(old: Task | None, task: Task) -> Task:
    if old is None or old is task or task.status in _LASTING:
        return task
    if old.status in _LASTING:
        return replace(task, status=Status.TODO) if task.status is not Status.TODO else task
    if replace(task, status=old.status, updated_at=old.updated_at) == old:
        return old
    return task if task.status is old.status else replace(task, status=old.status)
