"""How each agent is given the JSON schema of its answer (spec 3)."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from git_blackbird.agents.protocol import Agent, JsonObject, RunRequest
from git_blackbird.errors import AgentUnavailableError

SCHEMA_VARIABLE = "BLACKBIRD_RESPONSE_SCHEMA"
_SCHEMA_FILE = "schema.json"
_OTHER_AGENTS = "choose another agent: --agent claude, or --agent codex"
_REMEDIES = {
    "command": f"if the command honours {SCHEMA_VARIABLE}: git config blackbird.command.schema true; "
    f"or {_OTHER_AGENTS}"
}


@dataclass(frozen=True)
class SchemaLaunchArgs:
    """The additional arguments of a start with a schema; ``files`` as those of a LaunchSpec."""

    argv: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def require_schema(agent: Agent) -> None:
    """Raise AgentUnavailableError, with a hint, for an agent that does not support schemas."""
    if not agent.abilities.schema:
        raise AgentUnavailableError(
            f"{agent.name} cannot enforce a JSON schema", hint=schema_remedy(agent.name)
        )


def schema_remedy(name: str) -> str:
    """Return a hint for users of an agent that does not support schemas."""
    return _REMEDIES.get(name, _OTHER_AGENTS)


def render_schema(agent: Agent, assignment: RunRequest) -> SchemaLaunchArgs:
    """Return the launch arguments for the schema of a request; empty if it has none.

    Raises AgentUnavailableError for an agent that does not support schemas.
    """
    if assignment.schema is None:
        return SchemaLaunchArgs()
    require_schema(agent)
    return _TERMS[agent.name](_compact(assignment.schema), assignment.scratch)


def _compact(schema: JsonObject) -> str:
    return json.dumps(schema, separators=(",", ":"))


def _claude(schema: str, _: str) -> SchemaLaunchArgs:
    return SchemaLaunchArgs(argv=("--json-schema", schema))


def _codex(schema: str, scratch: str) -> SchemaLaunchArgs:
    if not scratch:
        # A bare name would be looked up in the worktree.
        raise ValueError("a schema for codex needs the run's work folder")
    return SchemaLaunchArgs(
        argv=("--output-schema", f"{scratch}/{_SCHEMA_FILE}"), files={_SCHEMA_FILE: schema.encode()}
    )


def _in_environment(schema: str, _: str) -> SchemaLaunchArgs:
    return SchemaLaunchArgs(environ={SCHEMA_VARIABLE: schema})


_TERMS: Mapping[str, Callable[[str, str], SchemaLaunchArgs]] = {
    "claude": _claude,
    "codex": _codex,
    "command": _in_environment,
    "demo": _in_environment,
}
