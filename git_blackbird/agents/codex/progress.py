"""What Codex does, item by item, as the steps that people see."""

import re
import shlex
from collections.abc import Iterator, Sequence

from git_blackbird.agents.codex.events import Item, ServerError, Todo
from git_blackbird.agents.event_parser import bounded, relative_to_top
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.agent_io import Progress, ProgressKind

_MAX_SHOWN_FILES = 100
_MAX_REMEMBERED_ITEMS = 1000
_MAX_UNQUOTED_CHARACTERS = 4096
_MAX_ERROR_CHARACTERS = 16 * 1024
_FAILED = frozenset({"failed", "declined"})
_SHELL_START = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh -l?c (?=\S)")


class CodexProgress:
    """Report each item once: when it starts, if there is an event for that, or else when it completes."""

    def __init__(self, tops: Sequence[str]) -> None:
        self._tops = tops
        self._reported: set[str] = set()

    def started(self, item: Item) -> Iterator[Progress]:
        """Report an item that started or changed."""
        if item.id not in self._reported:
            steps = list(self._begin(item))
            if steps and item.id and len(self._reported) < _MAX_REMEMBERED_ITEMS:
                self._reported.add(item.id)
            yield from steps

    def completed(self, item: Item) -> Iterator[Progress]:
        """Report a completed item, unless it was reported already, and its result."""
        if item.id in self._reported:
            self._reported.discard(item.id)
        else:
            yield from self._begin(item)
        yield from self._end(item)

    def _begin(self, item: Item) -> Iterator[Progress]:
        match item.type:
            case "file_change":
                for change in item.changes[:_MAX_SHOWN_FILES]:
                    yield from step(ProgressKind.EDITS, relative_to_top(change.path, self._tops))
                if len(item.changes) > _MAX_SHOWN_FILES:
                    more = f"{len(item.changes) - _MAX_SHOWN_FILES} more files"
                    yield Progress(ProgressKind.EDITS, more)
            case "command_execution":
                yield from step(ProgressKind.RUNS, unwrap_command(item.command))
            case "mcp_tool_call":
                yield from step(ProgressKind.TOOL, f"{item.server} {item.tool}")
            case "collab_tool_call":
                yield from step(ProgressKind.TOOL, f"{item.tool} {item.prompt}")
            case "web_search":
                yield from step(ProgressKind.NOTE, _web_text(item))
            case "todo_list":
                yield from step(ProgressKind.NOTE, _todo_text(item.items))
            case _:
                pass

    def _end(self, item: Item) -> Iterator[Progress]:
        failed = item.status in _FAILED
        match item.type:
            case "agent_message" if item.text.strip():
                yield Progress(ProgressKind.SAYS, bounded(item.text))
            case "error":
                yield from step(ProgressKind.NOTE, item.message)
            case "command_execution" if failed or item.exit_code:
                reason = f"exit status {item.exit_code}" if item.exit_code else item.status
                yield from step(ProgressKind.NOTE, f"{reason}: {unwrap_command(item.command)}")
            case "file_change" if failed:
                yield from step(ProgressKind.NOTE, "an edit failed")
            case "mcp_tool_call" | "collab_tool_call" if failed:
                yield from step(ProgressKind.NOTE, f"failed: {item.tool}")
            case _:
                pass


def step(kind: ProgressKind, text: str) -> Iterator[Progress]:
    """Yield a step, unless there is nothing to say of it."""
    if line := clean_line(text):
        yield Progress(kind, line)


def unwrap(message: str) -> str:
    """Return the message of an error that is a server's JSON object; any other text unchanged."""
    try:
        body = ServerError.model_validate_json(message[:_MAX_ERROR_CHARACTERS])
    except ValueError:
        return message
    return body.detail or body.error.message or message


def unwrap_command(command: str) -> str:
    """Remove the shell from a command: ``/bin/bash -lc 'make check'`` becomes ``make check``."""
    start = _SHELL_START.match(command)
    if start is None:
        return command
    quoted = command[start.end() :]
    # Nearly all are quoted as one word; splitting them as a shell does is slow.
    if quoted[0] == quoted[-1] == "'" and quoted.count("'") == 2:
        return quoted[1:-1]
    if len(command) > _MAX_UNQUOTED_CHARACTERS:
        return quoted.lstrip("'\"")
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


def _web_text(item: Item) -> str:
    """Describe an action on the web; "" as long as it is unknown."""
    action = item.action
    query = action.query or ", ".join(action.queries) or item.query
    match action.type:
        case "open_page" if action.url:
            return f"opens {action.url}"
        case "find_in_page" if action.pattern:
            return f"looks for {action.pattern} in {action.url or 'a page'}"
        case _:
            return f"searches the web: {query}" if query else ""


def _todo_text(entries: Sequence[Todo]) -> str:
    open_texts = [entry.text for entry in entries if not entry.completed]
    done = f"{len(entries) - len(open_texts)} of {len(entries)} done"
    return f"{done}, next: {open_texts[0]}" if open_texts and open_texts[0] else done
