"""Schemas are made of what is printed: of the declarations of values, and of those that print them."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Annotated, Any, NamedTuple, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from git_blackbird.cli import schemas
from git_blackbird.cli.json_values import Fields, Printed, encode, members, model_of
from git_blackbird.cli.output import event_line
from git_blackbird.cli.printed.events import EVENTS, Dropped, shown_event
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.states import DecisionState
from git_blackbird.model.views.events import Decided, Event, Level, LimitsHeld, Notice, RunOutput, RunPlaced
from tests.cli.golden_harness import Program, program
from tests.json_lines import assert_valid, validator
from tests.kept import assert_kept

__all__ = ["program"]

ROOT = Path(__file__).resolve().parents[2]


def test_the_schema_that_ships_is_that_of_the_keys() -> None:
    assert_kept(ROOT / "git_blackbird/schemas/config.json", schemas.schema("config"))


def test_each_schema_is_one() -> None:
    for name in schemas.NAMES:
        Draft202012Validator.check_schema(validator(name).schema)


def test_a_schema_is_printed(program: Program) -> None:
    assert program.run("schema", "plan") == 0
    assert program.transcript[-3] == schemas.schema("plan")
    assert program.run("schema") == 0
    assert program.transcript[-3].splitlines() == schemas.NAMES


def test_a_schema_is_printed_for_programs(program: Program) -> None:
    assert program.run("schema", "config", "--json") == 0
    data = json.loads(program.transcript[-3])["data"]
    assert data == {"names": ["config"], "schema": json.loads(schemas.schema("config"))}


def test_an_error_fits_its_schema(program: Program) -> None:
    assert program.run("show", "--json") == 2
    line = json.loads(program.transcript[-3])
    schema = json.loads(schemas.schema("error"))
    assert list(line["error"]) == list(schema["properties"]["error"]["properties"])


def test_a_schema_that_is_none_is_refused(program: Program) -> None:
    assert program.run("schema", "../model") == 2
    assert "no schema" in program.transcript[-2]


def test_each_event_is_printed_as_something() -> None:
    assert set(get_args(Event)) == EVENTS.keys()


_A = TaskId("a")
_RUN = RunId("0123456789abcdef")


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        (RunPlaced(_A, _RUN, "w1"), {"worker": "w1"}),
        (
            RunOutput(_A, _RUN, b"a\xff\n", skipped=3),
            {"stream": "stdout", "text": "a\ufffd\n", "skippedBytes": 3},
        ),
        (Decided(_A, _RUN, DecisionState.REJECTED, elsewhere=True), {"state": "rejected", "commit": None}),
        (LimitsHeld((), 0), {"limits": []}),
        (Notice(Level.INFO, "text", task_id=_A), {"level": "info", "text": "text", "hint": None}),
    ],
)
def test_an_event_is_a_line_of_the_stream(event: Event, fields: dict[str, object]) -> None:
    line = event_line(*shown_event(event))
    assert_valid(line)
    assert json.loads(line).items() >= fields.items()


def test_what_was_dropped_is_a_line_of_the_stream() -> None:
    assert_valid(event_line("dropped", Dropped(3)))


def test_the_page_has_each_output_event_and_part() -> None:
    page = schemas.page()
    assert {f"Schema: `{name}`." in page or f"### `{name}`" in page for name in schemas.OUTPUTS} == {True}
    assert {f"\n### `{name}`\n" in page for name in schemas.EVENTS} == {True}
    anchors = {
        line.removeprefix("### ").strip("`").lower() for line in page.splitlines() if line[:4] == "### "
    }
    assert {link.partition(")")[0] for link in page.split("](#")[1:]} <= anchors


class _Colour(StrEnum):
    RED = "red"


class _Inner(NamedTuple):
    """What is in another."""

    task_id: Annotated[TaskId, Shown("The task.", "task")]
    hidden: int = 0

    @property
    def half(self) -> Annotated[float, Shown("Of something.")]:
        return 2


class _Spread(NamedTuple):
    """Whose fields stand beside others."""

    inner: Annotated[_Inner, Shown("", is_spread=True)]
    paths: Annotated[tuple[PurePath, ...], Shown("Some paths.")]
    colours: Annotated[dict[_Colour, int], Shown("A number for each.")]
    pair: Annotated[tuple[int, str] | None, Shown("A pair.")]
    limit: Annotated[int | None, Shown("Left out where there is none.", or_absent=True)] = None


class _Read(Printed[_Spread]):
    """What is read of another."""

    field = Fields[_Spread]()
    first: str = field("The first path.", lambda spread: str(spread.paths[0]))
    any_of: object = field("Whatever it is.", lambda spread: spread.inner, "any")
    usage: Usage | None = field("As in a record.", lambda _: Usage(input_tokens=1))
    at: str = field.at("When it was printed.", lambda _, now: now)


def test_a_value_is_printed_as_it_is_declared() -> None:
    spread = _Spread(_Inner(TaskId("a")), (PurePath("b"),), {_Colour.RED: 1}, (1, "c"))
    shown = {"task": "a", "half": 2.0, "paths": ["b"], "colours": {"red": 1}, "pair": [1, "c"]}
    assert encode(spread) == shown
    assert isinstance(encode(spread)["half"], float)
    assert encode(spread._replace(pair=None, limit=3)) == {**shown, "pair": None, "limit": 3}
    assert encode(_Read(spread), "now") == {
        "first": "b",
        "any": {"task": "a", "half": 2.0},
        "usage": {"input_tokens": 1, "output_tokens": 0, "cached_tokens": 0},
        "at": "now",
    }
    assert _Read(spread).first == "b"


def test_the_schema_of_a_value_is_that_of_its_declaration() -> None:
    schema = model_of(_Spread).model_json_schema()
    assert schema["required"] == ["task", "half", "paths", "colours", "pair"]
    assert schema["properties"]["task"]["description"] == "The task."
    assert schema["additionalProperties"] is False
    assert model_of(_Read).model_json_schema()["description"] == "What is read of another."


def _kinds(kind: Any, seen: set[Any]) -> None:
    for part in (kind, *get_args(kind)):
        is_printed = isinstance(part, type) and not issubclass(part, BaseModel)
        if is_printed and part not in seen and members(part):
            seen.add(part)
            for member in members(part):
                _kinds(member.hint, seen)
                assert bool(member.shown.text) != member.shown.is_spread, (part, member.name)
    for part in get_args(kind):
        _kinds(part, seen)


def test_each_field_says_what_it_is() -> None:
    seen = set[Any]()
    for kind in (*schemas.OUTPUTS.values(), *schemas.EVENTS.values()):
        _kinds(kind, seen)
    assert {kind for kind in seen if not kind.__doc__} == set()


@pytest.mark.exhaustive
def test_a_build_needs_only_the_libraries_that_it_names() -> None:
    code = "import sys; from git_blackbird.cli import schemas; schemas.page(); print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named, needed = (
        {re.split(r"[^\w]", one)[0] for one in found}
        for found in (
            project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["dependencies"],
            project["project"]["dependencies"],
        )
    )
    assert {module.partition(".")[0] for module in said.stdout.split()} & needed == named


def test_a_package_has_every_schema_and_the_page(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": ""})
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as package:
        kept = {
            name: json.loads(package.read(f"git_blackbird/schemas/{name}.json")) for name in schemas.NAMES
        }
        assert kept == {name: validator(name).schema for name in schemas.NAMES}
        (page,) = (name for name in package.namelist() if name.endswith("share/doc/git-blackbird/json.md"))
        assert package.read(page).decode().endswith(schemas.page())
