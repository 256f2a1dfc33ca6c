"""The step of an agent that is at work, by which it is not stopped in the middle of a tool."""

import json
from typing import Any

import pytest

from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.codex.parser import CodexParser
from git_blackbird.agents.event_parser import EventParser, ToolSteps
from git_blackbird.agents.gemini.agent import GeminiParser
from git_blackbird.agents.opencode.agent import OpencodeParser
from tests.agents.running import assign


def claude(kind: str, call: str) -> dict[str, Any]:
    block = {"type": kind, "id": call, "tool_use_id": call, "name": "Bash", "content": "done"}
    role = "assistant" if kind == "tool_use" else "user"
    return {"type": role, "message": {"role": role, "content": [block]}}


def codex(kind: str, call: str) -> dict[str, Any]:
    return {"type": f"item.{kind}", "item": {"id": call, "type": "command_execution", "command": "make"}}


@pytest.mark.parametrize(
    ("parser", "begins", "ends"),
    [
        (ClaudeParser, [claude("tool_use", "a")], [claude("tool_result", "a")]),
        (
            ClaudeParser,
            [claude("tool_use", "a"), claude("tool_use", "b"), claude("tool_result", "a")],
            [claude("tool_result", "b")],
        ),
        (CodexParser, [codex("started", "a"), codex("updated", "a")], [codex("completed", "a")]),
        (
            GeminiParser,
            [{"type": "tool_use", "tool_name": "shell", "tool_id": "a"}],
            [{"type": "tool_result", "tool_id": "a", "status": "success"}],
        ),
        (OpencodeParser, [{"type": "step_start"}], [{"type": "step_finish", "part": {"reason": "stop"}}]),
    ],
    ids=["claude", "claude, two at once", "codex", "gemini", "opencode"],
)
def test_a_step_lasts_while_a_tool_is_at_work(
    parser: type[EventParser[Any]], begins: list[Any], ends: list[Any]
) -> None:
    reader = parser(assign("Go"))

    def steps(events: list[Any]) -> int | None:
        reader.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))
        return reader.step

    assert [steps([]), steps(begins), steps(ends), steps(begins)] == [None, 1, None, 2]


def test_very_many_calls_are_one_step() -> None:
    tools = ToolSteps()
    for number in range(5000):
        tools.begin(str(number))
    for number in range(5000):
        tools.end(str(number))
    assert tools.at_work is None
