"""The Anthropic Messages API, and ``claude``, which speaks it."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.standin.server import INPUT_TOKENS, OUTPUT_TOKENS, JsonObject, Reply, ToolCall

_ANSWER_TOOL = "StructuredOutput"
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Anthropic:
    """Streams content blocks; the program's tools are named functions."""

    agent = "claude"
    path = "/v1/messages"
    key: Mapping[str, str] = {"ANTHROPIC_API_KEY": "dummy"}
    subscription: Mapping[str, str] = {"CLAUDE_CODE_OAUTH_TOKEN": "dummy"}

    def events(self, reply: Reply, model: str) -> Iterator[JsonObject]:
        usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
        message = {"id": _new_id("msg"), "type": "message", "role": "assistant", "model": model}
        yield {
            "type": "message_start",
            "message": message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage},
        }
        for index, (block, delta) in enumerate(_blocks(reply)):
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        if reply.failure:
            yield {"type": "error", "error": {"type": reply.failure[0], "message": reply.failure[1]}}
            return
        reason = "tool_use" if reply.tools else "end_turn"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": OUTPUT_TOKENS},
        }
        yield {"type": "message_stop"}

    def error_body(self, reply: Reply) -> JsonObject:
        kind = _KINDS.get(reply.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": reply.text}}

    def said_by_user(self, request: JsonObject) -> list[str]:
        messages = request["messages"]
        return [text for entry in messages if entry["role"] == "user" for text in _texts(entry["content"])]

    def environ(self, url: str, home: Path) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CONFIG_DIR": str(home),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def writes(self, path: Path, text: str) -> ToolCall:
        return ToolCall("Write", {"file_path": str(path), "content": text})

    def reads(self, path: Path) -> ToolCall:
        return ToolCall("Read", {"file_path": str(path)})

    def edits(self, path: Path, old: str, new: str) -> tuple[Reply, ...]:
        # It edits nothing that it has not read since it was started.
        edit = ToolCall("Edit", {"file_path": str(path), "old_string": old, "new_string": new})
        return Reply(tools=(self.reads(path),)), Reply(tools=(edit,))

    def shell(self, command: str) -> ToolCall:
        return ToolCall("Bash", {"command": command, "description": "x"})

    def answers(self, answer: JsonObject) -> Reply:
        return Reply(tools=(ToolCall(_ANSWER_TOOL, answer),))

    def schema_in(self, request: JsonObject) -> JsonObject | None:
        schemas = (tool["input_schema"] for tool in request["tools"] if tool["name"] == _ANSWER_TOOL)
        return next(schemas, None)

    def usage_limit(self, resets_at: int) -> Reply:
        """Tell of it in the headers, which the program reads only as a subscriber's."""
        prefix = "anthropic-ratelimit-unified"
        return Reply(
            "This request would exceed your account's rate limit. Please try again later.",
            status=429,
            headers={
                f"{prefix}-status": "rejected",
                f"{prefix}-reset": str(resets_at),
                f"{prefix}-representative-claim": "five_hour",
                f"{prefix}-5h-status": "rejected",
                f"{prefix}-5h-reset": str(resets_at),
                f"{prefix}-5h-utilization": "1.0",
                f"{prefix}-overage-status": "rejected",
                f"{prefix}-overage-disabled-reason": "org_level_disabled",
            },
        )


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


def _blocks(reply: Reply) -> Iterator[tuple[JsonObject, JsonObject]]:
    if reply.text:
        yield {"type": "text", "text": ""}, {"type": "text_delta", "text": reply.text}
    for call in reply.tools:
        block = {"type": "tool_use", "id": _new_id("toolu"), "name": call.name, "input": {}}
        yield block, {"type": "input_json_delta", "partial_json": json.dumps(call.given)}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{time.monotonic_ns()}"
