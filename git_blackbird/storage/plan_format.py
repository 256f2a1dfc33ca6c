"""The plan file's own serialisation, byte for byte what the Go program writes (PEER.md 1.1)."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from git_blackbird.errors import UnusableError
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import SCHEMA_VERSION, Plan, Status, Task
from git_blackbird.model.validation import Fault, id_fault, item_place, key_fault, plan_faults
from git_blackbird.storage.json_text import JsonFault, dump_json, load_json


class InvalidPlanError(UnusableError):
    """A plan file with faults; ``faults`` holds all of them."""

    def __init__(self, path: str, faults: list[Fault]) -> None:
        listed = "".join(f"\n- {fault}" for fault in faults)
        super().__init__(
            f"invalid plan: {path}{listed}", hint="mend the file; `git blackbird validate` checks it again"
        )
        self.faults = faults


class _Item(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    title: str
    description: str = ""
    acceptance_criteria: list[str] = Field(alias="acceptanceCriteria")
    prompt: str = ""
    parent: str | None = Field(None, alias="parentId")
    children: list[str] = Field(alias="childIds")
    deps: list[str]
    status: str
    created_at: str = Field(alias="createdAt")
    updated_at: str = Field(alias="updatedAt")
    notes: str | None = None
    dep_rationale: dict[str, str] | None = Field(None, alias="depRationale")


_FIXES = {
    "missing": "add it",
    "extra_forbidden": "remove it: the plan's schema has no such field",
    "string_type": "make it a string",
    "list_type": "make it a list",
    "dict_type": "make it an object",
    "model_type": "make it an object",
}


def parse_plan(data: bytes, path: str) -> Plan:
    """Read a plan file.

    Raises InvalidPlanError with every fault; a plan without faults is returned.
    """
    try:
        raw = load_json(data)
    except JsonFault as fault:
        raise InvalidPlanError(path, [Fault("$", str(fault), "make it valid JSON")]) from None
    faults = list(_top_faults(raw))
    items = raw.get("items") if isinstance(raw, dict) else None
    if not isinstance(items, dict):
        raise InvalidPlanError(path, faults)
    tasks: dict[TaskId, Task] = {}
    for key in sorted(items):
        faults.extend(_read_item(key, items[key], tasks))
    faults.extend(plan_faults(Plan(tasks), items.keys()))
    if faults:
        raise InvalidPlanError(path, faults)
    return Plan(tasks)


def _top_faults(raw: Any) -> Iterator[Fault]:
    if not isinstance(raw, dict):
        yield Fault("$", "is not an object", 'write {"schemaVersion": 1, "items": {}}')
        return
    for name in sorted(raw.keys() - {"schemaVersion", "items"}):
        yield Fault(f"$.{name}", "unknown field", "remove it: the plan's schema has no such field")
    version = raw.get("schemaVersion")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        yield Fault("$.schemaVersion", f"is {version!r}, not {SCHEMA_VERSION}", f"write {SCHEMA_VERSION}")
    if not isinstance(raw.get("items"), dict):
        yield Fault("$.items", "is not an object", "make it an object from task id to task")


def _read_item(key: str, raw: Any, tasks: dict[TaskId, Task]) -> Iterator[Fault]:
    """Put the task into ``tasks`` when its shape is right; yield what is wrong with it."""
    try:
        item = _Item.model_validate(raw)
    except ValidationError as error:
        yield from _shape_faults(key, error)
        return
    status = _parse_status(item.status)
    if status is None:
        fix = f"use one of: {', '.join(Status)}"
        yield Fault(f"{item_place(key)}.status", f'unknown status "{item.status}"', fix)
    for fault in (id_fault(key), key_fault(key, TaskId(item.id))):
        if fault is not None:
            yield fault
    if status is not None and item.id == key:
        tasks[TaskId(key)] = _task(item, status)


def _parse_status(text: str) -> Status | None:
    try:
        return Status(text)
    except ValueError:
        return None


def _shape_faults(key: str, error: ValidationError) -> Iterator[Fault]:
    for detail in error.errors(include_url=False):
        place = item_place(key) + "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in detail["loc"]
        )
        what = {"missing": "is missing", "extra_forbidden": "unknown field"}.get(
            detail["type"], f"is {_shown(detail['input'])}"
        )
        yield Fault(place, what, _FIXES.get(detail["type"], detail["msg"]))


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _task(item: _Item, status: Status) -> Task:
    rationale = item.dep_rationale or {}
    return Task(
        id=TaskId(item.id),
        title=item.title,
        description=item.description,
        acceptance_criteria=tuple(item.acceptance_criteria),
        prompt=item.prompt,
        parent=None if item.parent is None else TaskId(item.parent),
        children=tuple(map(TaskId, item.children)),
        deps=tuple(map(TaskId, item.deps)),
        status=status,
        created_at=item.created_at,
        updated_at=item.updated_at,
        notes=item.notes,
        dep_rationale=tuple((TaskId(dep), why) for dep, why in rationale.items()),
    )


def render_plan(plan: Plan) -> bytes:
    """Write a plan as the Go program does: its field order, ids sorted, two spaces, its escapes."""
    items = {task_id: _fields(plan.tasks[task_id]) for task_id in sorted(plan.tasks)}
    return dump_json({"schemaVersion": SCHEMA_VERSION, "items": items})


def _fields(task: Task) -> Mapping[str, Any]:
    fields: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "description": task.description,
        "acceptanceCriteria": task.acceptance_criteria,
        "prompt": task.prompt,
        "parentId": task.parent,
        "childIds": task.children,
        "deps": task.deps,
        "status": task.status,
        "createdAt": task.created_at,
        "updatedAt": task.updated_at,
    }
    if task.notes is not None:
        fields["notes"] = task.notes
    if task.dep_rationale:
        fields["depRationale"] = dict(sorted(task.dep_rationale))
    return fields
