"""What Claude Code is doing, event by event of its stream (AGENTS.md 2.2)."""

from collections.abc import Iterator
from typing import Any

from git_blackbird.agents.activity import bounded, inside, one_line, tops_of
from git_blackbird.agents.json_values import count_of, object_of, objects_of, text_of
from git_blackbird.agents.protocol import JsonObject
from git_blackbird.model.conversation import Progress, ProgressKind

_KINDS = {
    **dict.fromkeys(
        ("Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"), ProgressKind.READS
    ),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), ProgressKind.EDITS),
    **dict.fromkeys(("Bash", "BashOutput"), ProgressKind.RUNS),
}
_PATHS = ("file_path", "notebook_path", "path")
_SUBJECTS = (*_PATHS, "pattern", "command", "url", "query", "description")
_MAX_OPEN_CALLS = 1000
_FIRST_LINE_CHARACTERS = 100
_PROGRAM_ITSELF = "<synthetic>"
_TAGS = ("<tool_use_error>", "</tool_use_error>")


class ClaudeSteps:
    """Shows what is said, each tool call when it is made, and those that failed when they have."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._tops = tops_of(folder)
        self._calls: dict[str, str] = {}

    def enter(self, cwd: str) -> None:
        """Take note of the folder in which the program says that it works."""
        self._tops = tops_of(self._folder, cwd)

    def of_message(self, event: JsonObject) -> Iterator[Progress]:
        """Show a message of the model's."""
        message = object_of(event.get("message"))
        for block in objects_of(message.get("content")):
            match block.get("type"):
                case "text" if (text := text_of(block.get("text"))).strip():
                    yield _said(text, message, event)
                case "tool_use":
                    yield from self._call(block)
                case _:
                    pass

    def of_answers(self, event: JsonObject) -> Iterator[Progress]:
        """Show which of the tool calls failed that are answered here."""
        for block in objects_of(object_of(event.get("message")).get("content")):
            if block.get("type") == "tool_result":
                call = self._calls.pop(text_of(block.get("tool_use_id")), "")
                if block.get("is_error") is True:
                    why = _first_line(block.get("content")) or "failed"
                    yield Progress(ProgressKind.NOTE, one_line(f"{why}: {call}" if call else why))

    def of_system(self, event: JsonObject) -> Iterator[Progress]:
        """Show what the program says of itself."""
        text = _system_text(event)
        if text:
            yield Progress(ProgressKind.NOTE, one_line(text))

    def _call(self, block: JsonObject) -> Iterator[Progress]:
        name, given = text_of(block.get("name")), object_of(block.get("input"))
        key = next((key for key in _SUBJECTS if text_of(given.get(key))), "")
        subject = text_of(given.get(key))
        shown = one_line(inside(subject, self._tops) if key in _PATHS else subject)
        kind = _KINDS.get(name)
        text = shown if kind and shown else one_line(f"{name} {shown}")
        call = text_of(block.get("id"))
        if call and len(self._calls) < _MAX_OPEN_CALLS:
            self._calls[call] = text
        if text:
            yield Progress(kind if kind and shown else ProgressKind.TOOL, text)


def _said(text: str, message: JsonObject, event: JsonObject) -> Progress:
    if message.get("model") == _PROGRAM_ITSELF:
        return Progress(ProgressKind.NOTE, one_line(text))
    if event.get("parent_tool_use_id"):
        return Progress(ProgressKind.NOTE, one_line(f"a subagent says: {text}"))
    return Progress(ProgressKind.SAYS, bounded(text))


def _first_line(content: Any) -> str:
    parts = [text_of(part.get("text")) for part in objects_of(content)]
    text = text_of(content) or next(filter(None, parts), "")
    line = text.strip().partition("\n")[0]
    for tag in _TAGS:
        line = line.replace(tag, "")
    return one_line(line, _FIRST_LINE_CHARACTERS)


def _system_text(event: JsonObject) -> str:
    match event.get("subtype"):
        case "api_retry":
            tries = f"{count_of(event.get('attempt'))} of {count_of(event.get('max_retries'))}"
            return f"the model's server failed: retry {tries}: {text_of(event.get('error'))}"
        case "compact_boundary":
            return "the conversation was compacted"
        case "status" if event.get("status") == "compacting":
            return "compacts the conversation"
        case "informational":
            return text_of(event.get("content"))
        case _:
            return ""
