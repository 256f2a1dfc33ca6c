"""The progress of Claude Code, event by event (AGENTS.md 2.2)."""

from collections.abc import Iterator

from git_blackbird.agents.claude.event_types import Block, MessageEvent, System, ToolInput
from git_blackbird.agents.text import bounded, inside, one_line, top_folders
from git_blackbird.model.entities.agent_io import Progress, ProgressKind

_KINDS = {
    **dict.fromkeys(
        ("Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"), ProgressKind.READS
    ),
    **dict.fromkeys(("Edit", "Write", "MultiEdit", "NotebookEdit"), ProgressKind.EDITS),
    **dict.fromkeys(("Bash", "BashOutput"), ProgressKind.RUNS),
}
_PATHS = frozenset({"file_path", "notebook_path", "path"})
_MAX_OPEN_CALLS = 1000
_FIRST_LINE_CHARACTERS = 100
_PROGRAM_ITSELF = "<synthetic>"
_TAGS = ("<tool_use_error>", "</tool_use_error>")


class ClaudeProgress:
    """Report messages, each tool call when it is made, and its failure if it fails."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._tops = top_folders(folder)
        self._calls: dict[str, str] = {}

    def enter(self, cwd: str) -> None:
        """Store the working folder that the program reports."""
        self._tops = top_folders(self._folder, cwd)

    def of_message(self, event: MessageEvent) -> Iterator[Progress]:
        """Report a message of the model."""
        for block in event.message.content:
            if block.type == "text" and block.text.strip():
                yield _message_text(block.text, event)
            elif block.type == "tool_use":
                yield from self._call(block)

    def of_answers(self, event: MessageEvent) -> Iterator[Progress]:
        """Report the failed tool calls among these results."""
        for block in event.message.content:
            if block.type == "tool_result":
                call = self._calls.pop(block.tool_use_id, "")
                if block.is_error:
                    why = _first_line(block) or "failed"
                    yield Progress(ProgressKind.NOTE, one_line(f"{why}: {call}" if call else why))

    def of_system(self, event: System) -> Iterator[Progress]:
        """Report a status event of the program."""
        text = _system_text(event)
        if text:
            yield Progress(ProgressKind.NOTE, one_line(text))

    def _call(self, block: Block) -> Iterator[Progress]:
        shown = self._subject(block.input)
        kind = _KINDS.get(block.name)
        text = shown if kind and shown else one_line(f"{block.name} {shown}")
        if block.id and len(self._calls) < _MAX_OPEN_CALLS:
            self._calls[block.id] = text
        if text:
            yield Progress(kind if kind and shown else ProgressKind.TOOL, text)

    def _subject(self, given: ToolInput) -> str:
        """Return the first argument that describes a call, as one line."""
        name, value = next(((name, value) for name, value in vars(given).items() if value), ("", ""))
        return one_line(inside(value, self._tops) if name in _PATHS else value)


def _message_text(text: str, event: MessageEvent) -> Progress:
    if event.message.model == _PROGRAM_ITSELF:
        return Progress(ProgressKind.NOTE, one_line(text))
    if event.parent_tool_use_id:
        return Progress(ProgressKind.NOTE, one_line(f"a subagent says: {text}"))
    return Progress(ProgressKind.SAYS, bounded(text))


def _first_line(answer: Block) -> str:
    parts = (answer.content,) if isinstance(answer.content, str) else [part.text for part in answer.content]
    line = next(filter(None, parts), "").strip().partition("\n")[0]
    for tag in _TAGS:
        line = line.replace(tag, "")
    return one_line(line, _FIRST_LINE_CHARACTERS)


def _system_text(event: System) -> str:
    match event.subtype:
        case "api_retry":
            return f"the model's server failed: retry {event.attempt} of {event.max_retries}: {event.error}"
        case "compact_boundary":
            return "the conversation was compacted"
        case "status" if event.status == "compacting":
            return "compacts the conversation"
        case "informational":
            return event.content
        case _:
            return ""
