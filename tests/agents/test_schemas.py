import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from git_blackbird.agents.protocol import Assignment, Launch
from git_blackbird.agents.registry import load_agent
from git_blackbird.errors import AgentUnavailableError
from git_blackbird.model.config.layers import AGENT_NAMES
from tests.agents.running import Stage, assign
from tests.support import config_with

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"ä": {"type": "boolean"}}, "required": ["ä"]}
COMPACT = '{"type":"object","properties":{"\\u00e4":{"type":"boolean"}},"required":["\\u00e4"]}'
HONOURS = config_with(command__run="cat", command__schema=True)


def terms(*argv: str, files: Mapping[str, bytes] = MappingProxyType({}), **environ: str) -> Launch:
    return Launch(argv, b"", environ, files)


def with_schema(*, read_only: bool = False) -> Assignment:
    return assign("Look", schema=SCHEMA, read_only=read_only)


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("claude", terms("--json-schema", COMPACT)),
        (
            "codex",
            terms("--output-schema", "/work folder/schema.json", files={"schema.json": COMPACT.encode()}),
        ),
        ("command", terms(BLACKBIRD_RESPONSE_SCHEMA=COMPACT)),
        ("demo", terms(BLACKBIRD_RESPONSE_SCHEMA=COMPACT)),
    ],
)
def test_each_agent_is_told_a_schema_in_its_own_terms(name: str, named: Launch) -> None:
    agent = load_agent(name, HONOURS)
    launch = agent.launch(with_schema(), scratch="/work folder")
    assert " ".join(named.argv) in " ".join(launch.argv)
    assert named.environ.items() <= launch.environ.items()
    assert launch.files == named.files


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", AGENT_NAMES)
def test_without_a_schema_nothing_is_said_of_one(name: str, read_only: bool) -> None:
    agent = load_agent(name, HONOURS)
    assignment = assign("Work", read_only=read_only)
    launch = agent.launch(assignment, scratch="/work folder")
    assert not any("schema" in name for name in launch.files)
    assert "BLACKBIRD_RESPONSE_SCHEMA" not in launch.environ
    assert "schema" not in " ".join(launch.argv)


def test_an_agent_that_cannot_be_held_to_a_schema_is_refused_with_the_way_out() -> None:
    agent = load_agent("command", config_with(command__run="cat"))
    with pytest.raises(AgentUnavailableError) as caught:
        agent.launch(with_schema(), scratch="/work folder")
    assert caught.value.message == "the agent 'command' cannot enforce a JSON schema"
    assert caught.value.hint == (
        "git config blackbird.command.schema true    # if the command honours BLACKBIRD_RESPONSE_SCHEMA"
    )


@pytest.mark.parametrize(("name", "can"), [("claude", True), ("codex", True), ("command", False)])
def test_who_can_be_held_to_a_schema(name: str, can: bool) -> None:
    assert load_agent(name, config_with()).abilities.schema is can
    assert load_agent(name, HONOURS).abilities.schema


def test_a_schema_file_is_never_looked_for_in_the_worktree() -> None:
    codex = load_agent("codex", config_with())
    with pytest.raises(ValueError, match="needs the run's work folder"):
        codex.launch(assign("Look", schema=SCHEMA))


def test_a_command_reads_the_schema_and_none_of_a_run_further_out(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    agent = load_agent(
        "command",
        config_with(command__run='echo "${BLACKBIRD_RESPONSE_SCHEMA-none}"', command__schema=True),
    )
    told = stage.run_agent(agent, with_schema(), BLACKBIRD_RESPONSE_SCHEMA="outer").final_text
    assert json.loads(told) == SCHEMA
    bare = stage.run_agent(agent, assign("Work"), BLACKBIRD_RESPONSE_SCHEMA="outer").final_text
    assert bare == "none"
