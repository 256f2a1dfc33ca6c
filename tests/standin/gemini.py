"""The Gemini API, and ``gemini``, which speaks it."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.standin.server import INPUT_TOKENS, OUTPUT_TOKENS, JsonObject, Reply, ToolCall

KEY_VARIABLE = "GEMINI_API_KEY"
# With a model of its own choice it asks another one first which to take.
MODEL = "gemini-2.5-pro"
_SETTINGS = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "model": {"name": MODEL},
    "privacy": {"usageStatisticsEnabled": False},
    "security": {"auth": {"selectedType": "gemini-api-key"}},
}


class Gemini:
    """Streams candidates with parts; the program's tools are named functions."""

    agent = "gemini"
    path = f"/v1beta/models/{MODEL}:streamGenerateContent"
    key: Mapping[str, str] = {KEY_VARIABLE: "dummy"}
    subscription = key

    def events(self, reply: Reply, model: str) -> Iterator[JsonObject]:  # it is in the path
        for part in _parts(reply):
            yield {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}
        if reply.failure:
            yield {"error": {"code": reply.failure[0], "message": reply.failure[1]}}
            return
        usage = {
            "promptTokenCount": INPUT_TOKENS,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        }
        end = {"index": 0, "content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP"}
        yield {"candidates": [end], "usageMetadata": usage}

    def error_body(self, reply: Reply) -> JsonObject:
        return {"error": {"code": reply.status, "message": reply.text}}

    def said_by_user(self, request: JsonObject) -> list[str]:
        turns = [turn for turn in request["contents"] if turn["role"] == "user"]
        return [part["text"] for turn in turns for part in turn["parts"] if "text" in part]

    def environ(self, url: str, home: Path) -> dict[str, str]:
        folder = home / ".gemini"
        folder.mkdir(exist_ok=True)
        (folder / "settings.json").write_text(json.dumps(_SETTINGS))
        return {"GEMINI_CLI_HOME": str(home), "GOOGLE_GEMINI_BASE_URL": url}

    def writes(self, path: Path, text: str) -> ToolCall:
        return ToolCall("write_file", {"file_path": str(path), "content": text})

    def reads(self, path: Path) -> ToolCall:
        return ToolCall("read_file", {"file_path": str(path)})

    def edits(self, path: Path, old: str, new: str) -> tuple[Reply, ...]:
        edit = {"file_path": str(path), "instruction": "x", "old_string": old, "new_string": new}
        return (Reply(tools=(ToolCall("replace", edit),)),)

    def shell(self, command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command})

    def answers(self, answer: JsonObject) -> Reply:
        return Reply(json.dumps(answer))

    def schema_in(self, request: JsonObject) -> JsonObject | None:  # it knows none
        return None

    def usage_limit(self, resets_at: int) -> Reply:  # it names no time
        violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaMetric": "requests"}
        detail = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
        error = {"code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED"}
        return Reply(status=429, body={"error": {**error, "details": [detail]}})


def _parts(reply: Reply) -> Iterator[JsonObject]:
    if reply.text:
        yield {"text": reply.text}
    for call in reply.tools:
        yield {"functionCall": {"name": call.name, "args": call.given}}
