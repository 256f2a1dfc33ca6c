"""``opencode``, which speaks the Anthropic Messages API."""

import json
from collections.abc import Mapping
from pathlib import Path

from tests.standin.anthropic import Anthropic
from tests.standin.server import JsonObject, Reply, ToolCall


class Opencode(Anthropic):
    """The same streams; the program's own tools and settings."""

    agent = "opencode"
    key: Mapping[str, str] = {}
    subscription = key

    def environ(self, url: str, home: Path) -> dict[str, str]:
        options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
        config = {"model": "anthropic/claude-sonnet-4-5", "provider": {"anthropic": {"options": options}}}
        (home / "opencode.json").write_text(json.dumps(config))
        # It installs a package into each folder of settings, unless there is something already.
        settings = home / "config/opencode"
        (settings / "node_modules").mkdir(parents=True, exist_ok=True)
        needed = {"dependencies": {"@opencode-ai/plugin": "*"}}
        (settings / "package-lock.json").write_text(json.dumps({"packages": {"": needed}}))
        folders = {
            f"XDG_{name.upper()}_HOME": str(home / name) for name in ("cache", "config", "data", "state")
        }
        return {
            **folders,
            "OPENCODE_CONFIG": str(home / "opencode.json"),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
        }

    def writes(self, path: Path, text: str) -> ToolCall:
        return ToolCall("write", {"filePath": str(path), "content": text})

    def reads(self, path: Path) -> ToolCall:
        return ToolCall("read", {"filePath": str(path)})

    def edits(self, path: Path, old: str, new: str) -> tuple[Reply, ...]:
        edit = ToolCall("edit", {"filePath": str(path), "oldString": old, "newString": new})
        return Reply(tools=(self.reads(path),)), Reply(tools=(edit,))

    def shell(self, command: str) -> ToolCall:
        return ToolCall("bash", {"command": command, "description": "x"})

    def answers(self, answer: JsonObject) -> Reply:
        return Reply(json.dumps(answer))

    def schema_in(self, request: JsonObject) -> JsonObject | None:  # it knows none
        return None

    def usage_limit(self, resets_at: int) -> Reply:  # it names no time
        return Reply("This request would exceed your account's rate limit.", status=429)
