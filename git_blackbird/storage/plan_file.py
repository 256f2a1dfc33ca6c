"""Read and write the plan file as the Go program does, reporting every error at once."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import compress
from operator import is_not
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, PydanticSerializationError

from git_blackbird.errors import UnusableError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.record import describe
from git_blackbird.model.base.sanitize import quoted
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.plan.plan import Plan, PlanFile, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import PlanError, item_place, plan_faults
from git_blackbird.storage.json_codec import JsonError, dump_json, escaped_as_go, load_bounded_json, load_json


class InvalidPlanError(UnusableError):
    """An invalid plan file; ``faults`` holds all errors."""

    def __init__(self, path: str, faults: list[PlanError]) -> None:
        listed = (f"- {fault}" for fault in faults)
        hint = Sentence("fix the file; ", TaskCommand("validate"), " checks it again")
        super().__init__((f"invalid plan: {path}", *listed), hint=hint)
        self.faults = faults


def parse_plan(data: bytes, path: str) -> Plan:
    """Parse a plan file; the last of duplicate keys counts. Raises InvalidPlanError with every error."""
    # The parsed data is unreferenced in the block, so that the garbage collector does not traverse it.
    with gc_paused():
        try:
            file = PlanFile.model_validate_json(data)
        except ValidationError:
            return _parse_faulty(data, path)
        return _checked(Plan(file.items), file.items.keys(), [], path)


def _parse_faulty(data: bytes, path: str) -> Plan:
    """Find every error of a file that pydantic rejects, also those between its tasks.

    Lone surrogates are accepted and read as the Go program reads them.
    """
    raw = _load(data, path, load_bounded_json)
    try:
        items, known, faults = PlanFile.model_validate_json(json.dumps(raw)).items, raw["items"], []
    except ValidationError as error:
        details = error.errors(include_url=False)
        faults = [_fault(detail) for detail in details]
        known = raw.get("items") if isinstance(raw, dict) else None
        if not isinstance(known, dict):
            raise InvalidPlanError(path, faults) from None
        fixed = {"schemaVersion": 1, "items": _fixed(known, [detail["loc"] for detail in details])}
        items = PlanFile.model_validate_json(json.dumps(fixed)).items
    return _checked(Plan(items), known.keys(), faults, path)


_LINKS = frozenset({"parentId", "childIds", "deps", "depRationale"})
_NEUTRAL = {
    "title": "?",
    "acceptanceCriteria": [],
    "status": "todo",
    "createdAt": "0001-01-01T00:00:00Z",
    "updatedAt": "9999-12-31T23:59:59Z",
}


def _fixed(items: Mapping[str, Any], refused: Iterable[tuple[str | int, ...]]) -> dict[str, Any]:
    """Return the items with neutral values for invalid ones, without items whose links cannot be read."""
    wrong = {(place[1], *place[2:3]) for place in refused if len(place) > 1}
    return {
        key: {"id": key} | _NEUTRAL | {name: item[name] for name in item if (key, name) not in wrong}
        for key, item in items.items()
        if (key,) not in wrong and wrong.isdisjoint((key, link) for link in _LINKS)
    }


def _checked(plan: Plan, known: Collection[str], faults: list[PlanError], path: str) -> Plan:
    all_faults = [*faults, *plan_faults(plan, known)]
    if all_faults:
        places = {item_place(task_id): index for index, task_id in enumerate(known)}
        raise InvalidPlanError(path, sorted(all_faults, key=lambda fault: _causes_first(fault, places)))
    return plan


_ITEM = r'\$\.items\["(?:[^"\\]|\\.)*"\]'
_CAUSES = ("unknown field", "unknown dep id", "unknown parent id", "unknown child id")
_CONSEQUENCE = "is missing"


def _causes_first(fault: PlanError, places: Mapping[str, int]) -> tuple[int, int]:
    """Sort by the items' order in the file; in each, misspelt names come before what they lead to."""
    item = re.match(_ITEM, fault.place)
    rank = 0 if fault.what.startswith(_CAUSES) else 2 if fault.what == _CONSEQUENCE else 1
    return -1 if item is None else places.get(item[0], -1), rank


_IS_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_FIXES = {
    "missing": "add it",
    "string_type": "make it a string",
    "tuple_type": "make it a list of strings",
    "dict_type": "make it an object of strings",
    "dataclass_type": "make it an object",
    "model_type": 'write {"schemaVersion": 1, "items": {}}',
    "string_pattern_mismatch": "name an agent or a model, or remove it",
    "enum": f"use one of: {', '.join(Status)}",
}
_FIXES_OF_FIELDS = {
    "schemaVersion": "write 1",
    "items": "make it an object from task id to task",
    "parentId": "make it a string or null",
    "notes": "make it a string or null",
}


def _fault(details: ErrorDetails) -> PlanError:
    kind, steps = details["type"], details["loc"]
    place, shown = _place(steps), describe(details["input"])
    if kind in _IS_UNKNOWN:
        return PlanError(place, "unknown field", "remove it: the plan's schema has no such field")
    fix = _FIXES_OF_FIELDS.get(str(steps[-1])) if len(steps) % 2 else None
    if kind == "missing":
        what = "is missing"
    elif kind == "enum":
        what = f"unknown status {shown}"
    elif steps in {(), ("items",)}:
        what = "is not an object"
    elif steps == ("schemaVersion",):
        what = f"is {shown}, not 1"
    else:
        what = f"is {shown}"
    return PlanError(place, what, fix or _FIXES[kind])


def _place(steps: Iterable[str | int]) -> str:
    """Return the path to a value: field names alternate with ids and indices."""
    place = "$"
    for depth, step in enumerate(steps):
        is_field = depth % 2 == 0 and str(step).isascii() and str(step).isidentifier()
        place += f".{step}" if is_field else f"[{quoted(step) if isinstance(step, str) else step}]"
    return place


def require_unique_keys(data: bytes, path: str) -> None:
    """Reject a plan file with duplicate keys: saving it would lose a value. Raises InvalidPlanError."""
    _load(data, path, load_json)


def _load(data: bytes, path: str, load: Callable[[bytes], Any]) -> Any:
    try:
        return load(data)
    except JsonError as fault:
        error = _conflict(data) or PlanError("$", str(fault), fault.fix)
        raise InvalidPlanError(path, [error]) from None


_MARKER = rb"(?m)^(?:<{7}|>{7})(?: |\r?$)"


_MERGED_AGAIN = (
    "`git checkout --merge :/blackbird.plan.json` merges it by task and field, or brings the markers back;"
    " else edit it, or take one side with `git checkout --ours :/blackbird.plan.json` or"
    " `git checkout --theirs :/blackbird.plan.json`"
)


def _conflict(data: bytes) -> PlanError | None:
    """Return the error of a file that git could not merge; None without its markers."""
    marker = re.search(_MARKER, data)
    if marker is None:
        return None
    line = data.count(b"\n", 0, marker.start()) + 1
    return PlanError(
        "$",
        f"line {line}: git could not merge the file and left conflict markers in it",
        Sentence("after ", TaskCommand("hooks install"), f", {_MERGED_AGAIN}"),
    )


_HEAD = b'{\n  "schemaVersion": 1,\n  "items": {\n    "'
# Deeper lines begin with more spaces, and no text holds a line break.
_BETWEEN = b',\n    "'
_TAIL = b"\n  }\n}\n"


class PlanRenderer:
    """Renders plans one after the other, and of each only the tasks that the one before did not have."""

    def __init__(self) -> None:
        # The tasks of the plan before, and in the order of the file what they became.
        self._known: tuple[Mapping[TaskId, Task], Mapping[TaskId, bytes]] = {}, {}

    def render(self, plan: Plan) -> bytes:
        if not plan.tasks:
            return render_plan(plan)
        before, pieces = self._known
        tasks = plan.tasks.values()
        # As many are most often the same ones, in the same order.
        known = before.values() if len(tasks) == len(before) else map(before.get, plan.tasks)
        new = {task.id: task for task in compress(tasks, map(is_not, tasks, known))}
        if new:
            made = render_plan(Plan(new))[len(_HEAD) : -len(_TAIL)].split(_BETWEEN)
            pieces = {**pieces, **dict(zip(sorted(new), made, strict=True))}
        if before.keys() != plan.tasks.keys():
            pieces = {task_id: pieces[task_id] for task_id in sorted(plan.tasks)}
        self._known = plan.tasks, pieces
        return b"".join((_HEAD, _BETWEEN.join(pieces.values()), _TAIL))


def render_plan(plan: Plan) -> bytes:
    """Serialize a plan as the Go program does: its field order, sorted ids, two spaces, its escapes."""
    file = PlanFile.model_construct(schema_version=1, items=dict(sorted(plan.tasks.items())))
    try:
        return f"{escaped_as_go(file.model_dump_json(by_alias=True, indent=2))}\n".encode()
    except PydanticSerializationError:
        # Lone surrogates cannot be encoded as UTF-8.
        return dump_json(file.model_dump(by_alias=True))
