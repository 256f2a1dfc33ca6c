"""The JSON Schemas of files and of what ``--json`` prints, and the page with its fields.

``schema`` makes one when it is asked for; a package has all, made when it is built.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from git_blackbird.cli.json_values import model_of
from git_blackbird.cli.output import JSON_SCHEMA_VERSION
from git_blackbird.cli.printed import (
    base,
    changes,
    dry_run,
    events,
    given,
    plan,
    planning,
    report,
    runs,
    setup,
    status,
    tasks,
)
from git_blackbird.controller.change.export import BranchResult, RestoreResult
from git_blackbird.controller.proof.decisions import Publication
from git_blackbird.controller.proof.done import DoneCriteria
from git_blackbird.controller.proof.prove import Proven
from git_blackbird.model.base.ids import MODEL_NAME, NAME_OF_CHECK
from git_blackbird.model.config.config import KEYS, keys_beside
from git_blackbird.model.config.keys import Key, ValueType
from git_blackbird.model.plan.plan import PlanFile
from git_blackbird.model.run.run import Run
from git_blackbird.model.views.verified import Verification

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
OUTPUTS: Mapping[str, Any] = {
    "add": plan.AddOutput,
    "adopt": setup.AdoptOutput,
    "agent": setup.AgentsOutput,
    "agent-one": setup.AgentOutput,
    "branch": BranchResult,
    "completion": given.CompletionOutput,
    "config-set": setup.ConfigChangeOutput,
    "config-show": setup.ConfigOutput,
    "decide": changes.DecideOutput,
    "deinit": given.DeinitOutput,
    "delete": plan.DeleteOutput,
    "deps": plan.DepsOutput,
    "doctor": setup.DoctorOutput,
    "edit": plan.EditOutput,
    "estimate": report.EstimateOutput,
    "execute-dry-run": dry_run.DryRunOutput,
    "graph": given.GraphOutput,
    "hooks": setup.HooksOutput,
    "init": setup.InitOutput,
    "list": tasks.ListOutput,
    "move": plan.MoveOutput,
    "plan-export": given.ExportOutput,
    "plan-import": plan.ImportOutput,
    "plan-lint": given.LintOutput,
    "prove": Proven,
    "prune": setup.PruneOutput,
    "records-publish": Publication,
    "rename": given.RenameOutput,
    "report": report.ReportOutput,
    "restore": RestoreResult,
    "review-change": runs.ChangeReviewOutput,
    "review-dismiss": given.DismissOutput,
    "review-parent": runs.ParentReviewOutput,
    "runs": runs.RunsOutput,
    "runs-one": runs.OneRunOutput,
    "schema": given.SchemaOutput,
    "set-status": plan.StatusChangeOutput,
    "show": runs.ShowOutput,
    "show-commit": runs.ShowCommitOutput,
    "show-prompt": given.ShowPromptOutput,
    "status": status.StatusOutput,
    "tell": changes.TellOutput,
    "undo": changes.UndoOutput,
    "undo-tasks": changes.UndoListOutput,
    "validate": given.ValidateOutput,
    "verify": Verification,
    "worktrees": changes.WorktreesOutput,
    "worktrees-prune": changes.PrunedWorktreesOutput,
}
EVENTS: Mapping[str, Any] = {
    **dict(events.EVENTS.values()),
    "dropped": events.Dropped,
    "questions": events.QuestionsAsked,
    "checkpoint": events.CheckpointReached,
    "timings": events.TimingsEvent,
    "stop": events.StopEvent,
    "planned": planning.PlannedEvent,
    "done_criteria": DoneCriteria,
}
# How a command is called whose output has not its own name.
_CALLS = {
    "agent-one": "agent NAME",
    "completion": "completion SHELL",
    "config-set": "config KEY VALUE`, `config --unset KEY",
    "config-show": "config`, `config KEY",
    "execute-dry-run": "execute --dry-run",
    "plan-export": "plan export",
    "plan-import": "plan import",
    "plan-lint": "plan lint",
    "records-publish": "records publish",
    "review-change": "review show` of a leaf, `review show",
    "review-dismiss": "review dismiss",
    "review-parent": "review show` of a parent, `review show",
    "runs": "runs`, `runs TASK",
    "runs-one": "runs TASK RUN",
    "set-status": "set-status`, `retry",
    "show-commit": "show --commit",
    "show-prompt": "show --prompt",
    "undo": "undo TASK`, `redo TASK",
    "undo-tasks": "undo`, `redo",
}
_JSON_TYPES = {
    ValueType.BOOLEAN: "boolean",
    ValueType.INTEGER: "integer",
    ValueType.NUMBER: "number",
    ValueType.TEXT: "string",
    ValueType.WORDS: "array",
}
_OTHERS = {
    "plan": "The plan file, blackbird.plan.json",
    "config": "A configuration file, .blackbird/config.json",
    "run": "The record of a run",
    "error": "An error, with --json",
    "events": "A line of a command that runs agents, with --json",
}
NAMES = sorted((*_OTHERS, *OUTPUTS))


def schema(name: str) -> str:
    """Make the schema of that name, as the text of its file."""
    kind = OUTPUTS.get(name)
    made = _line(kind) if kind is not None else _other(name)
    plain = _without_titles(made)
    plain.pop("description", None)
    title = _OTHERS.get(name) or _doc(kind)
    return json.dumps({"$schema": _DIALECT, "title": title, **plain}, indent=2) + "\n"


def _other(name: str) -> Schema:
    match name:
        case "plan":
            return PlanFile.model_json_schema()
        case "config":
            return _config_file()
        case "run":
            return Run.model_json_schema()
        case "error":
            return _line(base.ErrorOutput, "error")
        case _:
            return _event_lines()


def _doc(kind: Any) -> str:
    return " ".join(kind.__doc__.split())


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


def _line(kind: Any, place: str = "data") -> Schema:
    """Return the schema of the whole line that a command prints, with the fields of a class at ``place``."""
    data = model_of(kind).model_json_schema()
    parts = data.pop("$defs", {})
    command = {"command": {"type": "string"}} if place == "data" else {}
    fields = {"schemaVersion": {"const": JSON_SCHEMA_VERSION}, **command, place: data}
    line = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {**line, "$defs": parts}


def _event_lines() -> Schema:
    """Return the schema of any line of the event stream."""
    models = {name: model_of(kind) for name, kind in EVENTS.items()}
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
    of_check = {key.path[-1]: _config_key(key) for key in keys_beside("check.NAME")}
    named: Schema = {"type": "object", "properties": of_check, "additionalProperties": False}
    check = schema["properties"]["check"]
    check["patternProperties"] = {f"^(?!({'|'.join(check['properties'])})$){NAME_OF_CHECK}$": named}
    return schema


def _config_key(key: Key) -> Schema:
    """The schema of a key in a file, where one that is unset is left out."""
    low, high = key.row.limits or (None, None)
    pattern = rf"^$|{MODEL_NAME}" if key.row.is_model else None
    one: Schema = {"enum": list(key.choices) or None, "pattern": pattern}
    if key.type is ValueType.WORDS:
        one = {"items": _given({"type": "string", **one})}
    form = {"description": key.row.help, "type": _JSON_TYPES[key.type], **one}
    default = list(key.default) if isinstance(key.default, tuple) else key.default
    return _given({**form, "minimum": low, "maximum": high, "default": default})


def _given(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if value is not None}


def page() -> str:
    """Make the tables of all fields: of outputs, of events, and of the parts that they have."""
    lines = ["## `data` by command", ""]
    parts: Schema = {}
    for name, kind in OUTPUTS.items():
        call = _CALLS.get(name, name)
        lines += _section(f"`{call}`", kind, parts)
        if call != name:
            lines += [f"Schema: `{name}`.", ""]
    lines += ["## Errors", "", *_section("`error`", base.ErrorOutput, parts), "## Events", ""]
    lines += [
        'Each line is `{"schemaVersion": 1, "event": NAME, …}` with the fields of the event beside them.',
        "",
    ]
    for name, kind in EVENTS.items():
        lines += _section(f"`{name}`", kind, parts)
    lines += ["## Parts", ""]
    for name, part in sorted(parts.items()):
        if "properties" in part and name not in {kind.__name__ for kind in EVENTS.values()}:
            lines += _table(name, part.get("description", ""), part, parts)
    return "\n".join(lines).rstrip() + "\n"


def _section(heading: str, kind: Any, parts: Schema) -> Iterable[str]:
    schema = model_of(kind).model_json_schema()
    known = schema.get("$defs", {})
    parts.update({name: part for name, part in known.items() if name not in {*parts, Run.__name__}})
    return _table(heading, _doc(kind), schema, {**parts, **known})


def _table(heading: str, doc: str, schema: Schema, names: Schema) -> Iterable[str]:
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
    event = next((event for event, kind in EVENTS.items() if kind.__name__ == name), name)
    return f"[{event}](#{event.lower()})"
