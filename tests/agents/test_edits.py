"""Files that an agent's output says its edits wrote."""

import json
from collections.abc import Iterator
from typing import Any

from git_blackbird.agents.claude.parser import ClaudeParser
from git_blackbird.agents.codex.parser import CodexParser
from tests.agents.running import assign


def calls(*uses: tuple[str, dict[str, str], bool | None]) -> Iterator[dict[str, Any]]:
    for number, (tool, given, is_error) in enumerate(uses):
        use = {"type": "tool_use", "id": str(number), "name": tool, "input": given}
        yield {"type": "assistant", "message": {"id": "m", "content": [use]}}
        if is_error is not None:
            answer = {"type": "tool_result", "tool_use_id": str(number), "is_error": is_error}
            yield {"type": "user", "message": {"content": [answer]}}


def edited(parser: ClaudeParser | CodexParser, *events: dict[str, Any]) -> tuple[str, ...]:
    parser.feed(b"".join(json.dumps(event).encode() + b"\n" for event in events))
    return parser.finish(0, "").edited


def test_claude_wrote_what_was_not_refused_and_was_answered() -> None:
    events = calls(
        ("Write", {"file_path": "/a"}, False),
        ("Edit", {"file_path": "/denied"}, True),
        ("MultiEdit", {"file_path": "/b"}, False),
        ("NotebookEdit", {"notebook_path": "/c.ipynb"}, False),
        ("Read", {"file_path": "/read"}, False),
        ("Bash", {"command": "echo >/shell"}, False),
        ("Edit", {"file_path": "relative"}, False),
        ("Edit", {"file_path": "/a"}, False),
        ("Write", {"file_path": "/cut off"}, None),
    )
    assert edited(ClaudeParser(assign("Go")), *events) == ("/a", "/b", "/c.ipynb")


def test_codex_wrote_what_its_patches_changed() -> None:
    def patch(status: str, *paths: str) -> dict[str, Any]:
        changes = [{"path": path, "kind": "update"} for path in paths]
        item = {"id": status, "type": "file_change", "status": status, "changes": changes}
        return {"type": "item.completed", "item": item}

    events = (patch("completed", "/a", "/b"), patch("failed", "/c"), patch("declined", "/d"))
    assert edited(CodexParser(assign("Go")), *events) == ("/a", "/b")
