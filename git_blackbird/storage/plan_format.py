"""The plan file's own serialisation, byte for byte what the Go program writes (PEER.md 1.1)."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from git_blackbird.errors import UnusableError
from git_blackbird.model.collector import collector_paused
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import SCHEMA_VERSION, Plan, Status, Task
from git_blackbird.model.text import quoted
from git_blackbird.model.validation import Fault, item_place, plan_faults
from git_blackbird.storage.json_text import JsonFault, dump_json, load_json, render_json


class InvalidPlanError(UnusableError):
    """A plan file with faults; ``faults`` holds all of them."""

    def __init__(self, path: str, faults: list[Fault]) -> None:
        listed = "".join(f"\n- {fault}" for fault in faults)
        super().__init__(
            f"invalid plan: {path}{listed}", hint="fix the file; `git blackbird validate` checks it again"
        )
        self.faults = faults


_Fits = Callable[[object], bool]
_ONLY_TEXT = frozenset({str})


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_text_or_null(value: object) -> bool:
    return value is None or type(value) is str


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and _ONLY_TEXT.issuperset(map(type, value))


def _is_texts_by_name(value: object) -> bool:
    return value is None or (isinstance(value, dict) and _ONLY_TEXT.issuperset(map(type, value.values())))


# Looked at for every field of every task: plain functions, and no word about a value that is as it must be.
_FIELDS: Mapping[str, _Fits] = {
    "id": _is_text,
    "title": _is_text,
    "description": _is_text,
    "acceptanceCriteria": _is_texts,
    "prompt": _is_text,
    "parentId": _is_text_or_null,
    "childIds": _is_texts,
    "deps": _is_texts,
    "status": _is_text,
    "createdAt": _is_text,
    "updatedAt": _is_text,
    "notes": _is_text_or_null,
    "depRationale": _is_texts_by_name,
}
_TAKES_TEXT = frozenset(name for name, fits in _FIELDS.items() if fits in (_is_text, _is_text_or_null))
_OPTIONAL = frozenset({"description", "prompt", "parentId", "notes", "depRationale"})
_REQUIRED = _FIELDS.keys() - _OPTIONAL
_MENDS: Mapping[_Fits, str] = {
    _is_text: "make it a string",
    _is_text_or_null: "make it a string or null",
    _is_texts: "make it a list of strings",
    _is_texts_by_name: "make it an object of strings",
}
_LINKS = frozenset({"childIds", "deps"})
_OPTIONAL_LINKS = frozenset({"parentId", "depRationale"})
_NEUTRAL: Mapping[str, Any] = {
    "title": "?",
    "acceptanceCriteria": (),
    "createdAt": "0001-01-01T00:00:00Z",
    "updatedAt": "9999-12-31T23:59:59Z",
}
_STATUSES: Mapping[str, Status] = {status.value: status for status in Status}
_NO_SUCH_FIELD = "remove it: the plan's schema has no such field"


def parse_plan(data: bytes, path: str) -> Plan:
    """Read a plan file.

    Raises InvalidPlanError with every fault; a plan without faults is returned.
    """
    # What was read is let go with its only name, in there: the search for garbage never sees it.
    with collector_paused():
        return _read_plan(_load(data, path), path)


def _load(data: bytes, path: str) -> Any:
    try:
        return load_json(data)
    except JsonFault as fault:
        raise InvalidPlanError(path, [Fault("$", str(fault), fault.fix)]) from None


def _read_plan(raw: Any, path: str) -> Plan:
    faults = list(_top_faults(raw))
    items = raw.get("items") if isinstance(raw, dict) else None
    if not isinstance(items, dict):
        raise InvalidPlanError(path, faults)
    tasks: dict[TaskId, Task] = {}
    for key in sorted(items):
        task = _read_task(key, items[key])
        if task is None:
            faults.extend(_item_faults(key, items[key]))
            task = _mended(key, items[key])
        if task is not None:
            tasks[task.id] = task
    faults.extend(plan_faults(Plan(tasks), items.keys()))
    if faults:
        raise InvalidPlanError(path, faults)
    return Plan(tasks)


def _top_faults(raw: Any) -> Iterator[Fault]:
    if not isinstance(raw, dict):
        yield Fault("$", "is not an object", 'write {"schemaVersion": 1, "items": {}}')
        return
    for name in sorted(raw.keys() - {"schemaVersion", "items"}):
        yield Fault(_field("$", name), "unknown field", _NO_SUCH_FIELD)
    version = raw.get("schemaVersion")
    if version != SCHEMA_VERSION or type(version) is not int:
        what = f"is {_shown(version)}, not {SCHEMA_VERSION}" if "schemaVersion" in raw else "is missing"
        yield Fault("$.schemaVersion", what, f"write {SCHEMA_VERSION}")
    if not isinstance(raw.get("items"), dict):
        what = "is not an object" if "items" in raw else "is missing"
        yield Fault("$.items", what, "make it an object from task id to task")


def _read_task(key: str, raw: Any) -> Task | None:
    """Give the task of one item; None when its shape, its status or its id is wrong."""
    if not _is_shaped(raw) or raw["id"] != key:
        return None
    status = _STATUSES.get(raw["status"])
    return None if status is None else _task(raw, status)


def _mended(key: str, raw: Any) -> Task | None:
    """Give the task with neutral values for what is wrong in it alone, so that the rest is checked too.

    None where its links to other tasks cannot be read: what follows from them would be guessed.
    """
    if not isinstance(raw, dict):
        return None
    fitting = {name: raw[name] for name, fits in _FIELDS.items() if name in raw and fits(raw[name])}
    if not fitting.keys() >= _LINKS or not fitting.keys() >= raw.keys() & _OPTIONAL_LINKS:
        return None
    status = _STATUSES.get(fitting.get("status", ""), Status.TODO)
    return _task({**_NEUTRAL, **fitting, "id": key}, status)


def _item_faults(key: str, raw: Any) -> Iterator[Fault]:
    """Say why an item is no task."""
    place = item_place(key)
    if not isinstance(raw, dict):
        yield Fault(place, f"is {_shown(raw)}", "make it an object")
        return
    for name, fits in _FIELDS.items():
        if name not in raw:
            if name in _REQUIRED:
                yield Fault(f"{place}.{name}", "is missing", "add it")
        elif not fits(raw[name]):
            yield from _value_faults(f"{place}.{name}", raw[name], fits)
        elif name == "id" and raw[name] != key:
            what = f"is {quoted(raw[name])}, not its key"
            yield Fault(f"{place}.id", what, "make the key and the id the same")
        elif name == "status" and raw[name] not in _STATUSES:
            fix = f"use one of: {', '.join(_STATUSES)}"
            yield Fault(f"{place}.status", f"unknown status {quoted(raw[name])}", fix)
    for name in sorted(raw.keys() - _FIELDS.keys()):
        yield Fault(_field(place, name), "unknown field", _NO_SUCH_FIELD)


def _is_shaped(raw: Any) -> bool:
    if not isinstance(raw, dict) or not raw.keys() >= _REQUIRED:
        return False
    # Most values are texts: those cost no call.
    for name, value in raw.items():
        if type(value) is str and name in _TAKES_TEXT:
            continue
        fits = _FIELDS.get(name)
        if fits is None or not fits(value):
            return False
    return True


def _value_faults(place: str, value: object, fits: _Fits) -> Iterator[Fault]:
    """Name the value that is of the wrong kind, or those inside it that are."""
    inside: list[tuple[str, object]] = []
    if fits is _is_texts and isinstance(value, list):
        inside = [(f"[{index}]", one) for index, one in enumerate(value)]
    elif fits is _is_texts_by_name and isinstance(value, dict):
        inside = [(f"[{quoted(name)}]", one) for name, one in value.items()]
    if not inside:
        yield Fault(place, f"is {_shown(value)}", _MENDS[fits])
    for step, one in inside:
        if not _is_text(one):
            yield Fault(place + step, f"is {_shown(one)}", _MENDS[_is_text])


def _field(place: str, name: str) -> str:
    return f"{place}.{name}" if name.isascii() and name.isidentifier() else f"{place}[{quoted(name)}]"


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            text = json.dumps(value, ensure_ascii=False)
            return text if len(text) <= 40 else f"{text[:37]}..."


def _task(item: Mapping[str, Any], status: Status) -> Task:
    rationale = item.get("depRationale")
    return Task(
        id=item["id"],
        title=item["title"],
        description=item.get("description", ""),
        acceptance_criteria=tuple(item["acceptanceCriteria"]),
        prompt=item.get("prompt", ""),
        parent=item.get("parentId"),
        children=tuple(item["childIds"]),
        deps=tuple(item["deps"]),
        status=status,
        created_at=item["createdAt"],
        updated_at=item["updatedAt"],
        notes=item.get("notes"),
        dep_rationale=tuple(rationale.items()) if rationale else (),
    )


def render_plan(plan: Plan) -> bytes:
    """Write a plan as the Go program does: its field order, ids sorted, two spaces, its escapes."""
    if not plan.tasks:
        return dump_json({"schemaVersion": SCHEMA_VERSION, "items": {}})
    items = [_rendered(plan.tasks[task_id]) for task_id in sorted(plan.tasks)]
    items[0] = f'{{\n  "schemaVersion": {SCHEMA_VERSION},\n  "items": {{\n'.encode() + items[0]
    items[-1] += b"\n  }\n}\n"
    return b",\n".join(items)


# A plan is saved twice for each run, and all but one of its tasks are the very values they were.
_known_texts: dict[TaskId, tuple[Task, bytes]] = {}


def _rendered(task: Task) -> bytes:
    known = _known_texts.get(task.id)
    if known is None or known[0] is not task:
        known = _known_texts[task.id] = (task, _render_item(task).encode())
    return known[1]


def _render_item(task: Task) -> str:
    indent = "    "
    return f"{indent}{render_json(task.id)}: " + render_json(_fields(task)).replace("\n", f"\n{indent}")


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
