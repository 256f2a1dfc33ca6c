"""The progress of Codex, item by item (AGENTS.md 3.2)."""

import re
import shlex
from collections.abc import Iterator, Sequence

from git_blackbird.agents.codex.event_types import Change, Item, Todo
from git_blackbird.agents.text import bounded, inside, one_line
from git_blackbird.model.entities.agent_io import Progress, ProgressKind

_MAX_SHOWN_FILES = 100
_MAX_REMEMBERED_ITEMS = 1000
_MAX_UNQUOTED_CHARACTERS = 4096
_FAILED = frozenset({"failed", "declined"})
_SHELL_START = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh -l?c (?=\S)")


class CodexProgress:
    """Report each item once: when it starts, if there is an event for that, or else when it completes."""

    def __init__(self, tops: Sequence[str]) -> None:
        self._tops = tops
        self._shown: set[str] = set()

    def started(self, item: Item) -> Iterator[Progress]:
        """Report an item that started or changed."""
        if item.id not in self._shown:
            steps = list(self._begin(item))
            if steps and item.id and len(self._shown) < _MAX_REMEMBERED_ITEMS:
                self._shown.add(item.id)
            yield from steps

    def completed(self, item: Item) -> Iterator[Progress]:
        """Report a completed item, unless it was reported already, and its result."""
        if item.id in self._shown:
            self._shown.discard(item.id)
        else:
            yield from self._begin(item)
        yield from self._end(item)

    def _begin(self, item: Item) -> Iterator[Progress]:
        match item.type:
            case "file_change":
                yield from self._edits(item.changes)
            case "command_execution":
                yield from _step(ProgressKind.RUNS, unwrap_command(item.command))
            case "mcp_tool_call":
                yield from _step(ProgressKind.TOOL, f"{item.server} {item.tool}")
            case "web_search" if item.query:
                yield from _step(ProgressKind.NOTE, f"searches the web: {item.query}")
            case "todo_list":
                yield from _step(ProgressKind.NOTE, _todo_text(item.items))
            case _:
                pass

    def _end(self, item: Item) -> Iterator[Progress]:
        failed = item.status in _FAILED
        match item.type:
            case "agent_message" if item.text.strip():
                yield Progress(ProgressKind.SAYS, bounded(item.text))
            case "error":
                yield from _step(ProgressKind.NOTE, item.message)
            case "command_execution" if failed or item.exit_code:
                yield from _step(ProgressKind.NOTE, _failed_command(item))
            case "file_change" if failed:
                yield from _step(ProgressKind.NOTE, "an edit failed")
            case "mcp_tool_call" if failed:
                yield from _step(ProgressKind.NOTE, f"failed: {item.tool}")
            case _:
                pass

    def _edits(self, changes: Sequence[Change]) -> Iterator[Progress]:
        for change in changes[:_MAX_SHOWN_FILES]:
            yield from _step(ProgressKind.EDITS, inside(change.path, self._tops))
        if len(changes) > _MAX_SHOWN_FILES:
            yield Progress(ProgressKind.EDITS, f"{len(changes) - _MAX_SHOWN_FILES} more files")


def _step(kind: ProgressKind, text: str) -> Iterator[Progress]:
    shown = one_line(text)
    if shown:
        yield Progress(kind, shown)


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


def _failed_command(item: Item) -> str:
    reason = f"exit status {item.exit_code}" if item.exit_code else item.status
    return f"{reason}: {unwrap_command(item.command)}"


def _todo_text(entries: Sequence[Todo]) -> str:
    open_texts = [entry.text for entry in entries if not entry.completed]
    done = f"{len(entries) - len(open_texts)} of {len(entries)} done"
    return f"{done}, next: {open_texts[0]}" if open_texts and open_texts[0] else done
