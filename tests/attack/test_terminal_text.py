"""No text of a record, a plan or a file reaches a terminal or a page with what a terminal acts on."""

import json
import re
import types
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import RECORDER, Run, RunFields
from tests.support import commit
from tests.trial.program import Trial

HOSTILE = "x\x1b]52;c;aGk=\x07\x1b[31my\x9b31m\u202e\u2066z\u200f\x85\u2028w\x7f\rv"
ACTED_ON = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
RUN = "01a2000000000001"
# What is an id, a time or a decision is refused where it is none.
IDS = frozenset({"id", "task_id", "resumes", "reviewed_run", "provider_session_ref", "started_at"})
COMMANDS = (
    ("status",),
    ("status", "--porcelain"),
    ("list", "--all", "--tree"),
    ("list", "--porcelain"),
    ("show", "a"),
    ("show", "a", "--prompt"),
    ("runs",),
    ("runs", "a"),
    ("runs", "a", "--porcelain"),
    ("runs", "a", RUN),
    ("runs", "a", RUN, "--log"),
    ("runs", "a", "--diff"),
    ("review", "show", "a"),
    ("report",),
    ("worktrees",),
    ("execute", "--no-input", "--dry-run"),
    ("resume", "a", "--no-input"),
    ("decide", "a", "--approve"),
)


def values_of(kind: Any) -> Iterator[object]:
    """Hostile values of a type as it is in a file; none where a text cannot be chosen freely."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        yield from values_of(inside[0])
    elif origin in {typing.Union, types.UnionType}:
        for one in inside:
            yield from values_of(one)
    elif origin in {tuple, list}:
        yield from ([value] for value in values_of(inside[0]))
    elif origin is dict:
        yield from ({HOSTILE: value} for value in (*values_of(inside[1]), 1.0) if inside[1] is not float)
    elif isinstance(kind, type) and issubclass(kind, BaseModel):
        yield from documents(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        return
    elif kind is str:
        yield HOSTILE


def documents(model: type[BaseModel]) -> Iterator[dict[str, object]]:
    """Objects of a model with one hostile text each, in each of its fields, at every depth."""
    for name, field in model.model_fields.items():
        if name not in IDS:
            for value in values_of(field.annotation):
                yield {field.alias or name: value, **needed(model, name)}


def needed(model: type[BaseModel], but: str) -> dict[str, object]:
    """What a model requires beside one of its fields."""
    found: dict[str, object] = {}
    for name, field in model.model_fields.items():
        if field.is_required() and name != but:
            found[field.alias or name] = next(iter(plain(field.annotation)))
    return found


def plain(kind: Any) -> Iterator[object]:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        yield from plain(inside[0])
    elif isinstance(kind, type) and issubclass(kind, Enum):
        yield next(iter(kind)).value
    elif kind is int:
        yield 1
    elif kind is bool:
        yield True
    else:
        yield "plain" if origin is None else []


def record(fields: dict[str, object]) -> dict[str, object]:
    stamp = "2026-01-02T03:04:05Z"
    whole: dict[str, object] = {"id": RUN, "taskId": "a", "startedAt": stamp, "completedAt": stamp}
    return {**whole, "status": "waiting_user", "recorder": RECORDER, "provider": "command", **fields}


@pytest.fixture
def trial(repo: Path) -> Trial:
    commit(repo, {"x": "1\n"})
    trial = Trial(repo)
    trial.plan({"a": (), "b": ("a",)})
    trial.command("cat >/dev/null")
    return trial


def is_record(fields: dict[str, object]) -> bool:
    """Whether a record may have these fields: ids, for one, are refused where they are none."""
    try:
        Run.from_value(record(fields))
    except ValidationError:
        return False
    return True


def put(trial: Trial, fields: dict[str, object], *, ours: bool) -> None:
    top = trial.repo / (".git/blackbird" if ours else ".blackbird") / "runs/a"
    top.mkdir(parents=True, exist_ok=True)
    (top / f"{RUN}.json").write_text(json.dumps(record(fields)))


@pytest.mark.parametrize("ours", [True, False])
def test_every_text_of_a_record_is_shown_cleaned(trial: Trial, ours: bool) -> None:
    together: dict[str, object] = {}
    for document in filter(is_record, documents(RunFields)):
        (name,) = document
        known = together.get(name)
        value = document[name]
        together[name] = [*known, *value] if isinstance(known, list) and isinstance(value, list) else value
    assert is_record(together)
    assert len(together) > 25
    shown = 0
    for status in ("waiting_user", "success", "failed", "paused"):
        put(trial, together | {"status": status}, ours=ours)
        for command in COMMANDS:
            code, said = trial.run(*command)
            assert code != 70, (command, said)
            found = ACTED_ON.search(said.replace("\0", ""))
            assert found is None, (command, said[max(0, found.start() - 200) : found.start() + 40])
            shown += said.count("xy") + said.count("aGk=")
        trial.expect(0, "report", "--html", "page.html")
        page = (trial.repo / "page.html").read_text()
        assert ACTED_ON.search(page) is None
    assert shown > (20 if ours else 0)


def test_every_text_of_a_task_is_shown_cleaned(trial: Trial) -> None:
    path = trial.repo / "blackbird.plan.json"
    plan = json.loads(path.read_bytes())
    hostile = {"description": HOSTILE, "prompt": HOSTILE, "notes": HOSTILE, "acceptanceCriteria": [HOSTILE]}
    plan["items"]["a"] |= {**hostile, "title": HOSTILE}
    path.write_text(json.dumps(plan))
    assert {"description", "prompt", "notes", "title", "acceptance_criteria"} <= set(Task.__annotations__)
    for command in COMMANDS:
        _, said = trial.run(*command)
        assert ACTED_ON.search(said.replace("\0", "")) is None, (command, said)
