"""The OpenAI Responses API, and ``codex``, which speaks it."""

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.standin.server import INPUT_TOKENS, OUTPUT_TOKENS, JsonObject, Reply, ToolCall

CACHED_TOKENS = 10
KEY_VARIABLE = "STANDIN_KEY"
# A model that the program knows: with another it has fewer tools, and says so.
_CONFIG = """\
model = "gpt-5.5"
model_provider = "standin"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.standin]
name = "standin"
base_url = "{url}/v1"
env_key = "{key}"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


class OpenAi:
    """Streams whole items; one of the program's tools takes a text, the others named values."""

    agent = "codex"
    path = "/v1/responses"
    key: Mapping[str, str] = {KEY_VARIABLE: "dummy"}
    subscription = key

    def events(self, reply: Reply, model: str) -> Iterator[JsonObject]:
        response = {"id": _new_id("resp"), "model": model}
        yield {"type": "response.created", "response": response}
        for index, item in enumerate(_items(reply)):
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        if reply.failure:
            error = {"code": reply.failure[0], "message": reply.failure[1]}
            yield {"type": "response.failed", "response": response | {"error": error}}
            return
        usage = {
            "input_tokens": INPUT_TOKENS,
            "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
            "output_tokens": OUTPUT_TOKENS,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        yield {"type": "response.completed", "response": response | {"usage": usage}}

    def error_body(self, reply: Reply) -> JsonObject:
        return {"error": {"message": reply.text, "type": "invalid_request_error", "code": None}}

    def said_by_user(self, request: JsonObject) -> list[str]:
        messages = [item for item in request["input"] if item.get("role") == "user"]
        return [part["text"] for item in messages for part in item["content"] if "text" in part]

    def environ(self, url: str, home: Path) -> dict[str, str]:
        (home / "config.toml").write_text(_CONFIG.format(url=url, key=KEY_VARIABLE))
        return {"CODEX_HOME": str(home)}

    def writes(self, path: Path, text: str) -> ToolCall:
        added = "".join(f"+{line}\n" for line in text.splitlines())
        return _patch(f"*** Add File: {path}\n{added}")

    def reads(self, path: Path) -> ToolCall:
        return self.shell(f"cat {shlex.quote(str(path))}")

    def edits(self, path: Path, old: str, new: str) -> tuple[Reply, ...]:
        return (Reply(tools=(_patch(f"*** Update File: {path}\n@@\n-{old}\n+{new}\n"),)),)

    def shell(self, command: str) -> ToolCall:
        return ToolCall("exec_command", {"cmd": command})

    def answers(self, answer: JsonObject) -> Reply:
        return Reply(json.dumps(answer))

    def schema_in(self, request: JsonObject) -> JsonObject | None:
        wanted = request.get("text", {}).get("format", {})
        is_strict = wanted.get("type") == "json_schema" and wanted.get("strict") is True
        return wanted["schema"] if is_strict else None

    def usage_limit(self, resets_at: int) -> Reply:
        error = {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": resets_at,
        }
        return Reply(status=429, body={"error": error})


def _patch(text: str) -> ToolCall:
    return ToolCall("apply_patch", f"*** Begin Patch\n{text}*** End Patch\n")


def _items(reply: Reply) -> Iterator[JsonObject]:
    if reply.text:
        content = [{"type": "output_text", "text": reply.text}]
        yield {"type": "message", "id": _new_id("msg"), "role": "assistant", "content": content}
    for call in reply.tools:
        item = {"id": _new_id("item"), "call_id": _new_id("call"), "name": call.name}
        if isinstance(call.given, str):
            yield item | {"type": "custom_tool_call", "input": call.given}
        else:
            yield item | {"type": "function_call", "arguments": json.dumps(call.given)}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{time.monotonic_ns()}"
