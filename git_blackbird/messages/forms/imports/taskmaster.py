"""``tasks.json`` of Task Master: lists of tasks by tag, or one list without."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from git_blackbird.messages.forms.imports.common import Item, LeftOut, Source, read_all, source_of
from git_blackbird.messages.forms.natural import NaturalTask, faults_error

_DONE, _SKIPPED = ("done", "completed"), ("cancelled",)
_OWN_FIELDS = frozenset({"details", "testStrategy", "subtasks"})


class _Task(Item):
    id: int | str
    title: str
    description: str | None = None
    details: str | None = None
    testStrategy: str | None = None  # noqa: N815  # its name in the file
    status: str = "pending"
    dependencies: list[int | str] = Field([])
    subtasks: list["_Task"] = Field([])


def is_task_master(value: Any) -> bool:
    """Whether a value has lists of tasks by tag, or tasks with fields that only Task Master has."""
    if not isinstance(value, Mapping):
        return False
    if isinstance(tasks := value.get("tasks"), list):
        return any(isinstance(task, Mapping) and _OWN_FIELDS & task.keys() for task in tasks)
    return bool(value) and all(isinstance(tag, Mapping) and "tasks" in tag for tag in value.values())


def read_task_master(value: Any) -> Source:
    """Read the tasks; subtasks are children, and tags other than ``master`` are parents of theirs.

    Raises PageError.
    """
    tags = {"master": value} if isinstance(value, Mapping) and "tasks" in value else value
    if not isinstance(tags, Mapping) or not all(isinstance(tag, Mapping) for tag in tags.values()):
        raise faults_error(["no tasks: an object with `tasks`, or one of such objects by tag, is expected"])
    left_out = LeftOut()
    tasks: list[NaturalTask] = []
    for tag, content in tags.items():
        items = read_all(_Task, content.get("tasks"), f"{tag}, task")
        parent, prefix = (None, "") if tag == "master" else (tag, f"{tag}-")
        tasks += [] if parent is None else [NaturalTask(id=tag, title=tag)]
        tasks += _tasks(items, prefix, parent, left_out)
    return source_of(tasks, left_out)


def _tasks(
    items: Sequence[_Task], prefix: str, parent: str | None, left_out: LeftOut, tag: str | None = None
) -> Iterator[NaturalTask]:
    """Yield tasks and their subtasks, whose ids and dependencies are numbers below their parent."""
    tag = prefix if tag is None else tag
    names = {str(item.id): f"{prefix}{str(item.id).removeprefix(prefix[len(tag) :])}" for item in items}
    for item in items:
        task_id = names[str(item.id)]
        left_out.add_unknown(item, known=["parentId", "parentTaskId"])
        yield NaturalTask(
            id=task_id,
            title=" ".join(item.title.split()),
            parent=parent,
            description=item.description or "",
            prompt=item.details or "",
            criteria=[" ".join(item.testStrategy.split())] if item.testStrategy else [],
            deps=[names.get(str(dep), f"{tag}{dep}") for dep in item.dependencies],
            status=left_out.state(item.status, _DONE, _SKIPPED),
        )
        yield from _tasks(item.subtasks, f"{task_id}.", task_id, left_out, tag)
