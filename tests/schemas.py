"""The schemas that ship with the program, and the tables of ``docs/json.md``, made of the models."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from git_blackbird.cli.output import JSON_SCHEMA_VERSION
from git_blackbird.cli.schema.base import DataOutput, ErrorOutput, EventOutput
from git_blackbird.model.base.ids import MODEL_NAME
from git_blackbird.model.config.config import KEYS
from git_blackbird.model.config.keys import Key, ValueType
from git_blackbird.model.plan.plan import PlanFile
from git_blackbird.model.run.run import Run

Schema = dict[str, Any]
ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = ROOT / "git_blackbird/schemas"
PAGE = ROOT / "docs/json.md"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
FROM, TO = "<!-- from the models: begin -->\n", "<!-- from the models: end -->\n"
THEMES = sorted(path.stem for path in (ROOT / "git_blackbird/cli/schema").glob("[!_]*.py"))
JSON_TYPES = {
    ValueType.BOOLEAN: "boolean",
    ValueType.INTEGER: "integer",
    ValueType.NUMBER: "number",
    ValueType.TEXT: "string",
    ValueType.WORDS: "array",
}
# How a command is called whose output has not its own name.
CALLS = {
    "agent-one": "agent NAME",
    "completion": "completion SHELL",
    "config-set": "config KEY VALUE`, `config --unset KEY",
    "config-show": "config`, `config KEY",
    "execute-dry-run": "execute --dry-run",
    "plan-export": "plan export",
    "plan-import": "plan import",
    "plan-lint": "plan lint",
    "review-change": "review show` of a leaf, `review show",
    "review-dismiss": "review dismiss",
    "review-parent": "review show` of a parent, `review show",
    "runs": "runs`, `runs TASK",
    "runs-one": "runs TASK RUN",
    "set-status": "set-status`, `retry",
    "show-commit": "show --commit",
    "show-prompt": "show --prompt",
}


def outputs() -> Mapping[str, type[DataOutput]]:
    """Every output of a command, by the name of its schema."""
    for theme in THEMES:
        import_module(f"git_blackbird.cli.schema.{theme}")
    return {model.schema_name: model for model in sorted(DataOutput.__subclasses__(), key=_schema_name)}


def _schema_name(model: type[DataOutput]) -> str:
    return model.schema_name


def events() -> Mapping[str, type[EventOutput]]:
    """Every event, by its name."""
    for theme in THEMES:
        import_module(f"git_blackbird.cli.schema.{theme}")
    return {model.event: model for model in sorted(EventOutput.__subclasses__(), key=_module)}


def _module(model: type[BaseModel]) -> str:
    return model.__module__


def schemas() -> Mapping[str, str]:
    """Every schema by its name, as the text of its file."""
    return {
        "plan": _text("The plan file, blackbird.plan.json", PlanFile.model_json_schema()),
        "config": _text("A configuration file, .blackbird/config.json", _config_file()),
        "run": _text("The record of a run", Run.model_json_schema()),
        "error": _text("An error, with --json", _line(ErrorOutput, "error")),
        "events": _text("A line of a command that runs agents, with --json", _event_lines()),
        **{name: _text(_doc(model), _line(model)) for name, model in outputs().items()},
    }


def _doc(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _text(title: str, schema: Schema) -> str:
    plain = _without_titles(schema)
    plain.pop("description", None)
    return json.dumps({"$schema": DIALECT, "title": title, **plain}, indent=2) + "\n"


def _without_titles(schema: Any) -> Any:
    """Leave out the titles that pydantic makes of names: an editor shows them instead of descriptions."""
    if isinstance(schema, list):
        return list(map(_without_titles, schema))
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)
    }


def _line(model: type[BaseModel], place: str = "data") -> Schema:
    """The whole line that a command prints, with the model's fields at ``place``."""
    data = model.model_json_schema()
    parts = data.pop("$defs", {})
    command = {"command": {"type": "string"}} if place == "data" else {}
    fields = {"schemaVersion": {"const": JSON_SCHEMA_VERSION}, **command, place: data}
    line = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {**line, "$defs": parts}


def _event_lines() -> Schema:
    """Any line of the event stream."""
    models = events()
    _, shared = models_json_schema([(model, "validation") for model in models.values()])
    parts = shared["$defs"]
    for name, model in models.items():
        # The event of a dry run is a field, not a line: it keeps its definition.
        part = parts[model.__name__]
        fields = {"schemaVersion": {"const": JSON_SCHEMA_VERSION}, "event": {"const": name}}
        parts[model.__name__] = {
            **part,
            "properties": {**fields, **part["properties"]},
            "required": [*fields, *part["required"]],
        }
    return {"oneOf": [{"$ref": f"#/$defs/{model.__name__}"} for model in models.values()], "$defs": parts}


def _config_file() -> Schema:
    schema: Schema = {
        "type": "object",
        "properties": {"schemaVersion": {"const": 1}},
        "additionalProperties": False,
    }
    for key in KEYS.values():
        section = schema
        *outer, name = key.name.split(".")
        for one in outer:
            empty = {"type": "object", "properties": {}, "additionalProperties": one == "tui"}
            section = section["properties"].setdefault(one, empty)
        section["properties"][name] = _config_key(key)
    return schema


def _config_key(key: Key) -> Schema:
    """The schema of a key in a file, where one that is unset is left out."""
    low, high = key.row.limits or (None, None)
    pattern = rf"^$|{MODEL_NAME}" if key.row.is_model else None
    one: Schema = {"enum": list(key.choices) or None, "pattern": pattern}
    if key.type is ValueType.WORDS:
        one = {"items": _given({"type": "string", **one})}
    form = {"description": key.row.help, "type": JSON_TYPES[key.type], **one}
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    return _given({**form, "minimum": low, "maximum": high, "default": default})


def _given(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if value is not None}


def page_tables() -> str:
    """The tables of the page: outputs, events, and the parts that they have."""
    lines = ["## `data` by command", ""]
    parts: Schema = {}
    for name, output in outputs().items():
        call = CALLS.get(name, name)
        lines += _section(f"`{call}`", _doc(output), output.model_json_schema(), parts)
        if call != name:
            lines.insert(len(lines), f"Schema: `{name}`.")
            lines.append("")
    lines += ["## Errors", ""]
    lines += _section("`error`", _doc(ErrorOutput), ErrorOutput.model_json_schema(), parts)
    lines += ["## Events", "", *_page_intro()]
    for name, event in events().items():
        lines += _section(f"`{name}`", _doc(event), event.model_json_schema(), parts)
    lines += ["## Parts", ""]
    for name, part in sorted(parts.items()):
        if "properties" in part and name not in {model.__name__ for model in events().values()}:
            lines += _section(name, part.get("description", ""), part, parts)
    return "\n".join(lines).rstrip() + "\n"


def _page_intro() -> list[str]:
    return [
        'Each line is `{"schemaVersion": 1, "event": NAME, …}` with the fields of the event beside them.',
        "",
    ]


def _section(heading: str, doc: str, schema: Schema, parts: Schema) -> Iterable[str]:
    known = schema.get("$defs", {})
    parts.update({name: part for name, part in known.items() if name not in {*parts, Run.__name__}})
    names = {**parts, **known}
    rows = [
        f"| `{name}` | {_type(field, names)} | {field.get('description', '')} |"
        for name, field in schema["properties"].items()
    ]
    text = re.sub(r"\s+", " ", doc.replace("``", "`"))
    return [f"### {heading}", "", text, "", "| field | type | |", "|---|---|---|", *rows, ""]


def _type(field: Schema, parts: Schema) -> str:
    match field:
        case {"$ref": reference}:
            return _named(str(reference).rpartition("/")[2], parts)
        case {"anyOf": choices}:
            return " or ".join(_type(choice, parts) for choice in choices)
        case {"items": dict(inner)}:
            return f"list of {_type(inner, parts)}"
        case {"additionalProperties": dict(inner)}:
            return f"object of {_type(inner, parts)}"
        case _:
            return f"`{field['const']}`" if "const" in field else str(field.get("type", "any"))


def _named(name: str, parts: Schema) -> str:
    if name == Run.__name__:
        return "as `git blackbird schema run` says"
    values = parts[name].get("enum")
    if values is not None:
        return " ".join(f"`{value}`" for value in values)
    event = next((one.event for one in events().values() if one.__name__ == name), name)
    return f"[{event}](#{event.lower()})"


def with_tables(page: str) -> str:
    """The page with its tables as the models give them."""
    before, _, rest = page.partition(FROM)
    _, _, after = rest.partition(TO)
    return f"{before}{FROM}\n{page_tables()}\n{TO}{after}"


def shipped() -> Iterator[Path]:
    """Every file of a schema that there is."""
    return SCHEMAS.glob("*.json")
