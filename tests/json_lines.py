"""Each line that ``--json`` printed is held against the schema that the program gives for it."""

import json
from collections.abc import Mapping
from functools import cache

from jsonschema import Draft202012Validator

from git_blackbird.cli import schemas

# Of a command that prints several things: its schemas, by a field that is in that one alone.
_BY_FIELD: Mapping[str, Mapping[str, str]] = {
    "agent": {"agents": "agent", "can": "agent-one"},
    "config": {"settings": "config-show", "place": "config-set"},
    "decide": {"stage": "decide", "isRedo": "undo"},
    "execute": {"wouldStart": "execute-dry-run"},
    "redo": {"isRedo": "undo", "tasks": "undo-tasks"},
    "retry": {"superseded": "set-status"},
    "review": {"gate": "review-parent", "rounds": "review-change", "reason": "review-dismiss"},
    "runs": {"record": "runs-one", "older": "runs"},
    "show": {"dependents": "show", "knownFrom": "show-commit", "context": "show-prompt"},
    "tui": {"leaves": "status"},
    "undo": {"isRedo": "undo", "tasks": "undo-tasks"},
}


def assert_valid(text: str) -> None:
    """Hold each line of JSON that is ours against its schema."""
    for line in text.splitlines():
        if line.startswith('{"schemaVersion": 1, ') and line.endswith("}"):
            said = json.loads(line)
            faults = [
                f"{fault.json_path}: {fault.message}"
                for fault in validator(schema_of(said)).iter_errors(said)
            ]
            assert not faults, f"{faults}\n{line}"


def schema_of(said: Mapping[str, object]) -> str:
    """Return the name of the schema of a line."""
    if "event" in said:
        return "events"
    if "error" in said:
        return "error"
    command, data = str(said["command"]), said["data"]
    assert isinstance(data, dict), said
    if command == "worktrees":
        pruned = data["worktrees"] and "reason" in data["worktrees"][0]
        return "worktrees-prune" if pruned else "worktrees"
    fields = _BY_FIELD.get(command)
    if fields is None:
        return command.replace(" ", "-")
    return next(name for field, name in fields.items() if field in data)


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads(schemas.schema(name)))
