"""What Codex is doing, item by item of its event stream (AGENTS.md 3.2)."""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from git_blackbird.agents.activity import bounded, inside, one_line
from git_blackbird.agents.json_values import count_of, objects_of, text_of
from git_blackbird.agents.protocol import JsonObject
from git_blackbird.model.conversation import Progress, ProgressKind

_MAX_SHOWN_FILES = 100
_MAX_REMEMBERED_ITEMS = 1000
_MAX_UNQUOTED_CHARACTERS = 4096
_FAILED = frozenset({"failed", "declined"})
_SHELL_START = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh -l?c (?=\S)")


class CodexSteps:
    """Shows each item once: when it starts, where the program says so, else when it is over."""

    def __init__(self, tops: Sequence[str]) -> None:
        self._tops = tops
        self._shown: set[str] = set()

    def started(self, item: JsonObject) -> Iterator[Progress]:
        """Show an item that has begun or changed."""
        name = text_of(item.get("id"))
        if name not in self._shown:
            steps = list(self._begin(item))
            if steps and name and len(self._shown) < _MAX_REMEMBERED_ITEMS:
                self._shown.add(name)
            yield from steps

    def completed(self, item: JsonObject) -> Iterator[Progress]:
        """Show an item that is over: what it was, unless that was shown, and what came of it."""
        name = text_of(item.get("id"))
        if name in self._shown:
            self._shown.discard(name)
        else:
            yield from self._begin(item)
        yield from self._end(item)

    def _begin(self, item: JsonObject) -> Iterator[Progress]:
        match item.get("type"):
            case "file_change":
                yield from self._edits(item.get("changes"))
            case "command_execution":
                yield from _step(ProgressKind.RUNS, unwrap_command(text_of(item.get("command"))))
            case "mcp_tool_call":
                words = (text_of(item.get("server")), text_of(item.get("tool")))
                yield from _step(ProgressKind.TOOL, " ".join(filter(None, words)))
            case "web_search":
                query = text_of(item.get("query"))
                yield from _step(ProgressKind.NOTE, f"searches the web: {query}" if query else "")
            case "todo_list":
                yield from _step(ProgressKind.NOTE, _todo_text(item.get("items")))
            case _:
                pass

    def _end(self, item: JsonObject) -> Iterator[Progress]:
        failed = text_of(item.get("status")) in _FAILED
        match item.get("type"):
            case "agent_message" if (said := text_of(item.get("text"))).strip():
                yield Progress(ProgressKind.SAYS, bounded(said))
            case "error":
                yield from _step(ProgressKind.NOTE, text_of(item.get("message")))
            case "command_execution" if failed or count_of(item.get("exit_code")):
                yield from _step(ProgressKind.NOTE, _failed_command(item))
            case "file_change" if failed:
                yield from _step(ProgressKind.NOTE, "an edit failed")
            case "mcp_tool_call" if failed:
                yield from _step(ProgressKind.NOTE, f"failed: {text_of(item.get('tool'))}")
            case _:
                pass

    def _edits(self, changes: Any) -> Iterator[Progress]:
        paths = [text_of(change.get("path")) for change in objects_of(changes)]
        for path in paths[:_MAX_SHOWN_FILES]:
            yield from _step(ProgressKind.EDITS, inside(path, self._tops))
        if len(paths) > _MAX_SHOWN_FILES:
            yield Progress(ProgressKind.EDITS, f"{len(paths) - _MAX_SHOWN_FILES} more files")


def _step(kind: ProgressKind, text: str) -> Iterator[Progress]:
    shown = one_line(text)
    if shown:
        yield Progress(kind, shown)


def unwrap_command(command: str) -> str:
    """Take the shell off a command: ``/bin/bash -lc 'make check'`` is ``make check``."""
    start = _SHELL_START.match(command)
    if start is None:
        return command
    quoted = command[start.end() :]
    # Nearly all are quoted as one word; reading them as a shell does is slow.
    if quoted[0] == quoted[-1] == "'" and quoted.count("'") == 2:
        return quoted[1:-1]
    if len(command) > _MAX_UNQUOTED_CHARACTERS:
        return quoted.lstrip("'\"")
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return words[2] if len(words) == 3 else command


def _failed_command(item: JsonObject) -> str:
    command = unwrap_command(text_of(item.get("command")))
    code = count_of(item.get("exit_code"))
    return f"exit status {code}: {command}" if code else f"{text_of(item.get('status'))}: {command}"


def _todo_text(items: Any) -> str:
    entries = objects_of(items)
    done = sum(entry.get("completed") is True for entry in entries)
    following = next(
        (text_of(entry.get("text")) for entry in entries if entry.get("completed") is not True), ""
    )
    return f"{done} of {len(entries)} done" + (f", next: {following}" if following else "")
