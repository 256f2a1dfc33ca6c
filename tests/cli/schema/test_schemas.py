"""The schemas that ship are what the models give, and outputs fit them."""

import json
from types import SimpleNamespace
from typing import get_args

from git_blackbird.cli.schema import events
from git_blackbird.cli.schema.base import View, field
from git_blackbird.model.views.events import Event
from tests.cli.golden_harness import Program, program
from tests.kept import UPDATE, assert_kept, how_to_update
from tests.schemas import PAGE, SCHEMAS, schemas, shipped, with_tables

__all__ = ["program"]


def test_the_schemas_that_ship_are_those_of_the_models() -> None:
    made = schemas()
    for path in shipped():
        if path.stem not in made and UPDATE:
            path.unlink()
    for name, text in made.items():
        assert_kept(SCHEMAS / f"{name}.json", text)
    gone = {path.stem for path in shipped()} - made.keys()
    assert not gone, how_to_update()


def test_the_page_has_the_tables_of_the_models() -> None:
    assert_kept(PAGE, with_tables(PAGE.read_text()))


def test_a_schema_is_printed(program: Program) -> None:
    assert program.run("schema", "plan") == 0
    text = program.transcript[-3]
    assert text == (SCHEMAS / "plan.json").read_text()
    assert program.run("schema") == 0
    assert program.transcript[-3].splitlines() == sorted(path.stem for path in shipped())


def test_a_schema_is_printed_for_programs(program: Program) -> None:
    assert program.run("schema", "config", "--json") == 0
    data = json.loads(program.transcript[-3])["data"]
    assert data == {"names": ["config"], "schema": json.loads((SCHEMAS / "config.json").read_text())}


def test_an_error_fits_its_schema(program: Program) -> None:
    assert program.run("show", "--json") == 2
    line = json.loads(program.transcript[-3])
    schema = json.loads((SCHEMAS / "error.json").read_text())
    assert line.keys() == schema["properties"].keys()
    assert list(line["error"]) == list(schema["properties"]["error"]["properties"])


def test_a_schema_that_is_none_is_refused(program: Program) -> None:
    assert program.run("schema", "../model") == 2
    assert "no schema" in program.transcript[-2]


def test_each_event_has_its_output() -> None:
    assert set(get_args(Event)) == events._OUTPUTS.keys()


class _Texts(View):
    said: tuple[str, ...] = field("What was said.", each="text")


def test_an_attribute_of_each_item_is_read_from_the_field_of_that_name() -> None:
    said = (SimpleNamespace(text="one"), SimpleNamespace(text="two"))
    assert _Texts.of(SimpleNamespace(said=said)).to_json() == {"said": ["one", "two"]}
