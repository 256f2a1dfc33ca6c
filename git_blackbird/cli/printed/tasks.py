"""Output of ``list``, and a task in others."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from git_blackbird.cli.json_values import Fields, Printed
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.plan.status import Status


class PlannedTask(Printed[Task]):
    """One task, its fields named as in the plan file."""

    def __init__(self, task: Task, label: str) -> None:
        super().__init__(task)
        self.label = label

    field = Fields[Task]()
    id: TaskId = field("Its id.", lambda it: it.id)
    title: str = field("What it is, in one line.", lambda it: it.title)
    description: str = field("What it is about.", lambda it: it.description)
    acceptance_criteria: tuple[str, ...] = field("When it is done.", lambda it: it.acceptance_criteria)
    prompt: str = field("What its agent is to do.", lambda it: it.prompt)
    parent_id: TaskId | None = field("Its parent; null at the top of the plan.", lambda it: it.parent)
    child_ids: tuple[TaskId, ...] = field("Its children in their order.", lambda it: it.children)
    deps: tuple[TaskId, ...] = field("Tasks that must be done first.", lambda it: it.deps)
    dep_rationale: Mapping[TaskId, str] = field(
        "Why, by task, as far as reasons are given.", lambda it: it.dep_rationale
    )
    status: Status = field("Its status.", lambda it: it.status)
    label: Annotated[
        str, Shown("`READY`, `BLOCKED`, `TODO` (a parent), `TAKEN_BACK`, or the status in capitals.")
    ]
    created_at: str = field("When it was created.", lambda it: it.created_at)
    updated_at: str = field("When it was last changed.", lambda it: it.updated_at)
    notes: str | None = field("Notes for people.", lambda it: it.notes)


class ListedTask(PlannedTask):
    """A task in a list."""

    def __init__(self, depth: int, task: Task, label: str) -> None:
        super().__init__(task, label)
        self.depth = depth

    depth: Annotated[int, Shown("How deep it is in the tree; 0 without `--tree`.")]


class ListOutput(Printed[Sequence[tuple[int, Task, str]]]):
    """The tasks that `list` found."""

    field = Fields[Sequence[tuple[int, Task, str]]]()
    tasks: tuple[ListedTask, ...] = field(
        "The tasks, in plan order.", lambda it: tuple(ListedTask(*row) for row in it)
    )
