"""How each agent is told the JSON schema that its answer must keep to (spec 3). The one place for it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from git_blackbird.agents.protocol import Agent, Assignment, JsonObject
from git_blackbird.errors import AgentUnavailableError

SCHEMA_VARIABLE = "BLACKBIRD_RESPONSE_SCHEMA"
_SCHEMA_FILE = "schema.json"
_OTHER_AGENTS = "choose another agent: --agent claude, or --agent codex"
_REMEDIES = {
    "command": f"where the command keeps to {SCHEMA_VARIABLE}: git config blackbird.command.schema true; "
    f"or {_OTHER_AGENTS}"
}


@dataclass(frozen=True)
class SchemaTerms:
    """What a start has beyond its own words because of a schema; ``files`` as those of a Launch."""

    argv: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


def require_schema(agent: Agent) -> None:
    """Raise AgentUnavailableError, with the way out, for an agent that cannot be held to a schema."""
    if not agent.abilities.schema:
        raise AgentUnavailableError(
            f"{agent.name} cannot be held to a JSON schema", hint=schema_remedy(agent.name)
        )


def schema_remedy(name: str) -> str:
    """Say what a person can do whose agent of that name cannot be held to a schema."""
    return _REMEDIES.get(name, _OTHER_AGENTS)


def render_schema(agent: Agent, assignment: Assignment) -> SchemaTerms:
    """Say the schema of an assignment in the agent's own terms; nothing where it has none.

    Raises AgentUnavailableError for an agent that cannot be held to one.
    """
    if assignment.schema is None:
        return SchemaTerms()
    require_schema(agent)
    return _TERMS[agent.name](_compact(assignment.schema), assignment.scratch)


def _compact(schema: JsonObject) -> str:
    return json.dumps(schema, separators=(",", ":"))


def _claude(schema: str, _: str) -> SchemaTerms:
    return SchemaTerms(argv=("--json-schema", schema))


def _codex(schema: str, scratch: str) -> SchemaTerms:
    if not scratch:
        # A name alone would be looked for in the worktree.
        raise ValueError("a schema for codex needs the run's work folder")
    return SchemaTerms(
        argv=("--output-schema", f"{scratch}/{_SCHEMA_FILE}"), files={_SCHEMA_FILE: schema.encode()}
    )


def _in_environment(schema: str, _: str) -> SchemaTerms:
    return SchemaTerms(environ={SCHEMA_VARIABLE: schema})


_TERMS: Mapping[str, Callable[[str, str], SchemaTerms]] = {
    "claude": _claude,
    "codex": _codex,
    "command": _in_environment,
    "demo": _in_environment,
}
