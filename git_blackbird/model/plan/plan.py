"""The plan: a tree of tasks (parent, children) that is also a graph (dependencies)."""

from collections.abc import Iterable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import not_
from typing import Annotated, ClassVar, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from git_blackbird.model.base.ids import AGENT_NAME, MODEL_NAME, TaskId
from git_blackbird.model.base.timestamps import Moment, parse_timestamp
from git_blackbird.model.plan.status import Status as Status  # noqa: PLC0414  # whoever uses a plan uses both

_FILE = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def _is_none(value: object) -> bool:
    return value is None


_OVER = frozenset({Status.DONE, Status.SKIPPED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One item of the plan file, with fields in the file's order. Timestamps are text, as in the file."""

    __pydantic_config__: ClassVar[ConfigDict] = _FILE

    id: TaskId
    title: str
    description: str = ""
    acceptance_criteria: Annotated[tuple[str, ...], Field(alias="acceptanceCriteria")]
    prompt: str = ""
    parent: Annotated[TaskId | None, Field(alias="parentId")] = None
    children: Annotated[tuple[TaskId, ...], Field(alias="childIds")]
    deps: tuple[TaskId, ...]
    status: Status
    created_at: Annotated[str, Field(alias="createdAt")]
    updated_at: Annotated[str, Field(alias="updatedAt")]
    notes: Annotated[str | None, Field(exclude_if=_is_none)] = None
    dep_rationale: Annotated[
        dict[TaskId, str],
        BeforeValidator(lambda value: {} if value is None else value),
        Field(alias="depRationale", exclude_if=not_),
        PlainSerializer(lambda reasons: dict(sorted(reasons.items()))),
    ] = field(default_factory=dict, hash=False)
    agent: Annotated[str | None, Field(pattern=AGENT_NAME, exclude_if=_is_none)] = None
    model: Annotated[str | None, Field(pattern=MODEL_NAME, exclude_if=_is_none)] = None

    @property
    def is_leaf(self) -> bool:
        """Only leaves are executed."""
        return not self.children

    @property
    def is_over(self) -> bool:
        """Whether the task is done or skipped, so that a parent does not wait for it."""
        return self.status in _OVER


class PlanFile(BaseModel):
    model_config = _FILE

    schema_version: int = Field(alias="schemaVersion", ge=1, le=1)
    items: dict[TaskId, Task]


@dataclass(frozen=True)
class Plan:
    """The whole work graph, immutable.

    *Plan order* is that of the tree: children in the order of their parent, tasks at the top by creation.
    """

    tasks: Mapping[TaskId, Task] = field(default_factory=dict)

    def restated(self, tasks: Mapping[TaskId, Task], leaves: Iterable[TaskId] = ()) -> "Plan":
        """Return the plan of the same tree with other statuses, of these leaves and of any parents.

        What is known of all others stays known.
        """
        after, unfinished = Plan(tasks), dict(self._unfinished)
        after.__dict__["_shape"] = self._shape
        for task_id in leaves:
            if tasks[task_id].status is Status.DONE:
                unfinished.pop(task_id, None)
            elif task_id not in unfinished:
                # Its place among the others is not known.
                return after
        after.__dict__["_unfinished"] = unfinished
        return after

    def roots(self) -> tuple[Task, ...]:
        """Every task at the top, by creation, then by id."""
        return tuple(task for depth, task in self.walk() if not depth)

    def walk(self) -> Iterator[tuple[int, Task]]:
        """Yield every task with its depth in the tree, in plan order."""
        return ((depth, self.tasks[task_id]) for depth, task_id in self._shape.order)

    @cached_property
    def _shape(self) -> "_Shape":
        tops = sorted((task for task in self.tasks.values() if task.parent is None), key=creation_key)
        pending = [(0, top.id) for top in reversed(tops)]
        order: list[tuple[int, TaskId]] = []
        while pending:
            depth, task_id = pending.pop()
            order.append((depth, task_id))
            pending.extend((depth + 1, child) for child in reversed(self.tasks[task_id].children))
        leaves = tuple(task_id for _, task_id in order if self.tasks[task_id].is_leaf)
        return _Shape(tuple(order), leaves, tuple(key for _, key in order if self.tasks[key].children))

    def leaves(self) -> tuple[Task, ...]:
        """Return every leaf, in plan order."""
        return tuple(map(self.tasks.__getitem__, self._shape.leaves))

    @cached_property
    def _unfinished(self) -> dict[TaskId, None]:
        return dict.fromkeys(task.id for task in self.leaves() if task.status is not Status.DONE)

    @property
    def unfinished(self) -> KeysView[TaskId]:
        """The ids of the leaves that are not ``done``, in plan order."""
        return self._unfinished.keys()

    def unfinished_leaves(self) -> Iterator[Task]:
        """Every leaf that is not ``done``, in plan order."""
        return map(self.tasks.__getitem__, self._unfinished)

    def parents(self) -> tuple[Task, ...]:
        """Every task with children, in plan order."""
        return tuple(map(self.tasks.__getitem__, self._shape.parents))

    def replaced(self, *tasks: Task) -> "Plan":
        """Return the plan with these tasks added, or replacing those with the same ids."""
        return Plan({**self.tasks, **{task.id: task for task in tasks}})


class _Shape(NamedTuple):
    """What does not depend on statuses: the depth of all tasks in plan order, leaves, and parents."""

    order: tuple[tuple[int, TaskId], ...]
    leaves: tuple[TaskId, ...]
    parents: tuple[TaskId, ...]


def creation_key(task: Task) -> tuple[int, TaskId]:
    """Return the key that sorts tasks at the top of the plan."""
    return parse_timestamp(task.created_at), task.id


def new_task(task_id: TaskId, title: str, now: str) -> Task:
    """Return a new task without links to others."""
    return Task(
        id=task_id,
        title=title,
        acceptance_criteria=(),
        children=(),
        deps=(),
        status=Status.TODO,
        created_at=now,
        updated_at=now,
    )


def revised(task: Task, now: str) -> Task:
    """Return a copy of a task that was changed at ``now``.

    Clocks differ between machines: the change is never dated before the task's own times, which would make
    the plan invalid.
    """
    is_early = parse_timestamp(now) < parse_timestamp(task.created_at)
    return replace(task, updated_at=task.created_at if is_early else now)


def derived(task: Task, status: Status, at: Moment | None) -> Task:
    """Return the task with a status that began at ``at``, or the same object if nothing changes.

    Its time never goes back: it was edited later, or another clock is ahead.
    """
    if at is None or at.text == task.updated_at or at.nanoseconds <= parse_timestamp(task.updated_at):
        return task if task.status is status else replace(task, status=status)
    return replace(task, status=status, updated_at=at.text)


def with_status(task: Task, status: Status, now: str) -> Task:
    """Return the task with another status, or the same object if it has it already."""
    return task if task.status == status else revised(replace(task, status=status), now)
