"""Tasks as people and agents write them by hand: a page, or JSON with the natural fields."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from git_blackbird.messages.forms.page import PageError, PageFault, PageTask, given_fields, parse_page
from git_blackbird.model.base.timestamps import parse_timestamp

M = TypeVar("M", bound=BaseModel)


class NaturalTask(BaseModel):
    """A task in JSON; all but the title may be missing."""

    model_config = ConfigDict(extra="forbid", strict=True, validate_by_name=True)

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
    if not text.lstrip().startswith(("{", "[")):
        return parse_page(text)
    faults: list[str] = []
    items = _items(load_json_text(text))
    tasks = [task for where, item in items if (task := read_item(NaturalTask, where, item, faults))]
    if not tasks and not faults:
        faults.append("no tasks: a list of them, or an object with `items` or `tasks`, is expected")
    return in_order(tasks, faults)


def load_json_text(text: str) -> Any:
    """Parse JSON in which no key stands twice. Raises PageError, with the line where it ends to be JSON."""
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        fault = PageFault.of(f"not JSON, or cut off: {error.msg}, column {error.colno}", error.lineno)
        raise PageError([fault]) from error
    except (ValueError, RecursionError) as error:
        raise faults_error([f"not JSON: {error}"]) from error


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"a key stands twice in one object: {next(n for n in names if names.count(n) > 1)}")
    return found


def faults_error(faults: Sequence[str]) -> PageError:
    """Return the error of faults that say themselves where they are."""
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


def read_item(kind: type[M], where: str, item: Any, faults: list[str]) -> M | None:
    """Read one value of JSON; None where it is wrong, which is added to ``faults``."""
    try:
        return kind.model_validate(item)
    except ValidationError as error:
        for details in error.errors():
            place = ".".join(map(str, details["loc"]))
            what = "an object is expected" if details["type"] == "model_type" else details["msg"].lower()
            faults.append(f"{where}: {place + ': ' if place else ''}{what}")
        return None


def in_order(tasks: Sequence[NaturalTask], faults: list[str]) -> tuple[PageTask, ...]:
    """Return the tasks below their parents, in the order of the file or of their parent's list.

    Raises PageError with ``faults``, and with what is wrong in this.
    """
    page = tuple(_walk(tasks, faults))
    if faults:
        raise faults_error(faults)
    return page


def _walk(tasks: Sequence[NaturalTask], faults: list[str]) -> Iterator[PageTask]:
    above = {child: task.id for task in tasks for child in task.children}
    below: dict[str | None, list[NaturalTask]] = {}
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
    pending = [(task, 0) for task in reversed(_by_creation(below.pop(None, [])))]
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


def _by_creation(tasks: Sequence[NaturalTask]) -> Sequence[NaturalTask]:
    """Order the tasks at the top as a plan does, where all say when they were created."""
    try:
        return sorted(tasks, key=lambda task: (parse_timestamp(task.created or ""), task.id or ""))
    except ValueError:
        return tasks


def _page_task(task: NaturalTask, depth: int) -> PageTask:
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
