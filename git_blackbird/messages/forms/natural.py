"""Tasks as people and agents write them by hand: a page, or JSON with the natural fields."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, given_fields, parse_page


class _Task(BaseModel):
    """A task in JSON; all but the title may be missing."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str | None = None
    title: str
    prompt: str = ""
    description: str = ""
    notes: str | None = None
    criteria: list[str] = Field(
        [], validation_alias=AliasChoices("acceptanceCriteria", "criteria", "acceptance_criteria")
    )
    deps: list[str] = Field([], validation_alias=AliasChoices("deps", "dependencies", "after"))
    reasons: dict[str, str] = Field({}, validation_alias=AliasChoices("depRationale"))
    parent: str | None = Field(None, validation_alias=AliasChoices("parentId", "parent"))
    children: list[str] = Field([], validation_alias=AliasChoices("childIds"))
    agent: str | None = None
    model: str | None = None
    status: str | None = None
    created: str | None = Field(None, validation_alias=AliasChoices("createdAt"))
    updated: str | None = Field(None, validation_alias=AliasChoices("updatedAt"))


def read_page(text: str) -> tuple[PageTask, ...]:
    """Read a page, or a plan in JSON, as a page. Raises PageError with every error."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return parse_page(text)
    try:
        value = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise _error([f"not JSON: {error}"]) from error
    faults: list[str] = []
    tasks = [task for where, item in _items(value) if (task := _task(where, item, faults)) is not None]
    if not tasks and not faults:
        faults.append("no tasks: a list of them, or an object with `items` or `tasks`, is expected")
    page = tuple(_in_order(tasks, faults))
    if faults:
        raise _error(faults)
    return page


def _error(faults: Sequence[str]) -> PageError:
    return PageError([PageFault.of(fault) for fault in faults])


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each task with its place; in an object of tasks the key is the id of one that names none."""
    if isinstance(value, Mapping):
        held = next((value[name] for name in ("items", "tasks") if name in value), None)
        if held is None and "title" in value:
            held = [value]
        if isinstance(held, Mapping):
            for name, item in held.items():
                yield name, {"id": name, **item} if isinstance(item, Mapping) else item
            return
        value = held or []
    for number, item in enumerate(value if isinstance(value, list) else [value]):
        name = item.get("id") if isinstance(item, Mapping) else None
        yield str(name or f"task {number + 1}"), item


def _task(where: str, item: Any, faults: list[str]) -> _Task | None:
    try:
        return _Task.model_validate(item)
    except ValidationError as error:
        for details in error.errors():
            place = ".".join(map(str, details["loc"]))
            what = "an object is expected" if details["type"] == "model_type" else details["msg"].lower()
            faults.append(f"{where}: {place + ': ' if place else ''}{what}")
        return None


def _in_order(tasks: Sequence[_Task], faults: list[str]) -> Iterator[PageTask]:
    """Yield the tasks below their parents, in the order of the file or of their parent's list."""
    above = {child: task.id for task in tasks for child in task.children}
    below: dict[str | None, list[_Task]] = {}
    ids = {task.id for task in tasks if task.id is not None}
    for task in tasks:
        parent = task.parent or above.get(task.id or "")
        if parent is not None and parent not in ids:
            faults.append(f"{task.id or task.title}: its parent {parent} is not among the tasks")
        below.setdefault(parent, []).append(task)
    faults += [
        f"{task.id}: its child {child} is not among the tasks"
        for task in tasks
        for child in task.children
        if child not in ids
    ]
    pending = [(task, 0) for task in reversed(below.pop(None, []))]
    while pending:
        task, depth = pending.pop()
        yield _page_task(task, depth)
        order = {child: place for place, child in enumerate(task.children)}
        children = below.pop(task.id, []) if task.id is not None else []
        children.sort(key=lambda child: order.get(child.id or "", len(order)))
        pending += [(child, depth + 1) for child in reversed(children)]
    left = [task.id or task.title for held in below.values() for task in held]
    if left and not faults:
        faults.append(f"{', '.join(left)}: each is below another of them")


def _page_task(task: _Task, depth: int) -> PageTask:
    return PageTask(
        task.title,
        depth,
        given_fields(
            id=task.id,
            agent=task.agent,
            model=task.model,
            status=task.status,
            description=task.description or None,
            notes=task.notes,
        ),
        tuple(task.deps) or None,
        task.reasons,
        task.prompt,
        tuple(task.criteria),
    )
