"""The plan: a tree of tasks (parent, children) that is also a graph (dependencies)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from git_blackbird.model.ids import TaskId
from git_blackbird.model.timestamps import parse_timestamp

SCHEMA_VERSION = 1


class Status(StrEnum):
    """The statuses the plan file knows; the Go program knows no others."""

    TODO = "todo"
    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    WAITING_USER = "waiting_user"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


_OVER = frozenset({Status.DONE, Status.SKIPPED})


@dataclass(frozen=True, slots=True)
class Task:
    """One item of the plan. Timestamps are text, as in the file."""

    id: TaskId
    title: str
    created_at: str
    updated_at: str
    description: str = ""
    acceptance_criteria: tuple[str, ...] = ()
    prompt: str = ""
    parent: TaskId | None = None
    children: tuple[TaskId, ...] = ()
    deps: tuple[TaskId, ...] = ()
    status: Status = Status.TODO
    notes: str | None = None
    dep_rationale: tuple[tuple[TaskId, str], ...] = ()

    @property
    def is_leaf(self) -> bool:
        """Only leaves are executed."""
        return not self.children

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do, so that a parent does not wait for it: done, or skipped."""
        return self.status in _OVER


@dataclass(frozen=True)
class Plan:
    """The whole work graph. A new value is made for each change.

    *Plan order* is that of the tree: children in the order of their parent, tasks at the top by creation.
    """

    tasks: Mapping[TaskId, Task] = field(default_factory=dict)

    def roots(self) -> tuple[Task, ...]:
        """Every task at the top, by creation, then by id."""
        return tuple(task for depth, task in self.walk() if not depth)

    def walk(self) -> Iterator[tuple[int, Task]]:
        """Yield every task with its depth in the tree, in plan order."""
        return ((depth, self.tasks[task_id]) for depth, task_id in self._order)

    @cached_property
    def _order(self) -> tuple[tuple[int, TaskId], ...]:
        """Depths and ids in plan order."""
        tops = sorted((task for task in self.tasks.values() if task.parent is None), key=creation_key)
        pending = [(0, top.id) for top in reversed(tops)]
        order: list[tuple[int, TaskId]] = []
        while pending:
            depth, task_id = pending.pop()
            order.append((depth, task_id))
            pending.extend((depth + 1, child) for child in reversed(self.tasks[task_id].children))
        return tuple(order)

    def leaves(self) -> tuple[Task, ...]:
        """Every task without children, in plan order."""
        return tuple(task for _, task in self.walk() if task.is_leaf)

    def replaced(self, *tasks: Task) -> "Plan":
        """Give the plan with these tasks in place of those of their ids, or added."""
        return Plan({**self.tasks, **{task.id: task for task in tasks}})


def creation_key(task: Task) -> tuple[int, TaskId]:
    """Return the key that sorts tasks at the top of the plan."""
    return parse_timestamp(task.created_at), task.id


def revised(task: Task, now: str, **fields: Any) -> Task:
    """Give the task with fields changed at ``now``.

    Clocks of two machines differ: a change is never recorded as earlier than the task itself, which would
    make the plan invalid.
    """
    is_early = parse_timestamp(now) < parse_timestamp(task.created_at)
    return replace(task, **fields, updated_at=task.created_at if is_early else now)


def with_status(task: Task, status: Status, now: str) -> Task:
    """Give the task in another status; the same value when it already has it."""
    return task if task.status == status else revised(task, now, status=status)
