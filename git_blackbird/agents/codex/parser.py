"""Codex's stream, parsed to progress and an outcome."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence

from git_blackbird.agents.codex.events import (
    EVENTS,
    ErrorEvent,
    Event,
    Item,
    ItemEvent,
    OtherEvent,
    ServerError,
    ThreadStarted,
    ThreadUsage,
    Todo,
    TurnEvent,
)
from git_blackbird.agents.event_parser import (
    Edits,
    EventParser,
    Turn,
    Turns,
    bounded,
    relative_to_top,
    top_folders,
    unfinished_word,
    waiting_steps,
)
from git_blackbird.agents.failures import FailureMatch, ProviderHelp, error_line, exit_text, match_failure
from git_blackbird.agents.protocol import Assignment
from git_blackbird.clean import one_line
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Usage

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
    """Yield a step, unless its text is empty."""
    if line := one_line(text):
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


CODEX_HELP = ProviderHelp(
    name="codex",
    package="@openai/codex",
    update="npm install -g @openai/codex@latest",
    login="log in with `codex login`, or set a valid CODEX_API_KEY",
    phrases={
        AgentFailure.TOO_OLD: ("requires a newer version of codex",),
        AgentFailure.USAGE_LIMIT: ("to use codex with your chatgpt plan, upgrade",),
        AgentFailure.NOT_LOGGED_IN: ("no codex credentials were found",),
    },
)
_MAX_REMARKS = 5
_MAX_AT_WORK = 100
_WORK = frozenset({"command_execution", "collab_tool_call"})
_TOOLS = _WORK | {"file_change", "mcp_tool_call"}
_CUT_OFF = {"errored": "failed", "interrupted": "was stopped", "not_found": "was lost"}
# The beginning of its error line, with the failed request to its own server.
_REQUEST = re.compile(r"^error: (?:(\w+/\w+): \1 failed: )?", re.IGNORECASE)
# If its sandbox cannot be created, as in most containers, every command ends with this.
_NO_SANDBOX = re.compile(r"bwrap: \S")
_SANDBOX_HINT = (
    "if this machine is itself a sandbox, such as a container:"
    " git config blackbird.codex.sandbox danger-full-access"
)
_REVIEW_HINT = "its reviews need that sandbox: review with another agent"
_SAYS_ERROR = re.compile(r"\berror\b", re.IGNORECASE)
_REJECTED_PATCH = re.compile(r" ERROR \S+: error=patch rejected: ([^\n;]*)")
_FINISHED: Mapping[str, frozenset[str]] = {"type": frozenset({"turn.completed"})}


class CodexParser(EventParser[Event]):
    """Collect thread, last message and the end of the turn, and yield the steps in between."""

    events = EVENTS
    provider = CODEX_HELP

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = (), folder: str = "") -> None:
        super().__init__(assignment, args, folder)
        self._requested = assignment.session if assignment.resume else None
        self._steps = CodexProgress(top_folders(self._folder))
        self._edits = Edits()
        self._thread: str | None = None
        self._began = False
        # Of turns, the error with which they failed.
        self._turns: Turns[str | None] = Turns()
        self._in_turn = self._has_answer = False
        # The word of an end of a turn that is not known, unless it went on after it.
        self._other_end: str | None = None
        self._text = ""
        self._at_work: dict[str, str] = {}
        # The number of lines too long to read, up to the last message.
        self._skipped_lines = 0
        self._totals: dict[str, float] = {}
        self._remarks: list[str] = []
        self._no_sandbox = ""
        # Whether a command or an edit went through, and whether a model did anything at all.
        self._worked = self._has_items = False
        # The last error event, unless the turn went on after it.
        self._last_error = ""

    def _read(self) -> Ended:
        # A thread whose first turn never began may not have been saved.
        can_resume = self._began or self._requested == self._thread
        final_text, woken_texts = self._turns.texts if self._turns.answer else (self._text, ())
        return Ended(
            session=self._thread if can_resume else None,
            final_text=final_text,
            woken_texts=woken_texts,
            usage=self._usage(),
            raw_totals=self._totals or self._previous,
            notes=tuple(self._remarks),
            blocked=_blocked(self._stderr),
            is_cut=self._lines.too_long > self._skipped_lines,
            worked=self._has_items,
            last_error=self._last_error or None,
            edited=self._edits.paths,
        )

    def _take(self, event: Event) -> Iterator[Progress]:
        match event:
            case ThreadStarted():
                self._thread = event.thread_id or None
            case ItemEvent(type="item.completed", item=item):
                self._other_end = None
                self._at_work.pop(item.id, None)
                self._tools.end(item.id)
                self._remember(item)
                yield from self._steps.completed(item)
            case ItemEvent(item=item):
                if item.type in _TOOLS:
                    self._tools.begin(item.id)
                if item.type in _WORK and item.id and len(self._at_work) < _MAX_AT_WORK:
                    words = unwrap_command(item.command) or item.tool or item.type
                    self._at_work[item.id] = one_line(words)
                yield from self._steps.started(item)
            case TurnEvent():
                self._began = True
                yield from self._end(event)
            case OtherEvent():
                if event.type.startswith("turn."):
                    self._other_end = unfinished_word(event, _FINISHED)
            case ErrorEvent():
                self._last_error = one_line(unwrap(event.message or event.error), 1000)
                yield from step(ProgressKind.NOTE, self._last_error)

    def _end(self, event: TurnEvent) -> Iterator[Progress]:
        self._in_turn, self._other_end = event.type == "turn.started", None
        if unfinished_word(event, _FINISHED) is None:
            self._hear(self._text, ends_turn=True)
            self._turns.take(Turn(None, self._text, is_finished=self._has_answer))
            self._last_error = "" if self._has_answer else self._last_error
            self._totals = _totals(event.usage)
            if self._totals:
                yield Progress(ProgressKind.SPENDS, "", usage=self._usage())
        elif event.type == "turn.failed":
            # An earlier error event may have the reason.
            why = one_line(unwrap(event.error), 1000)
            if not why or self._last_error not in why:
                why = "; ".join(filter(None, (why, self._last_error)))
            self._turns.take(Turn(why, self._text, is_finished=False))
        if not self._in_turn:
            self._text = ""
            yield from waiting_steps(self.remaining_work)

    @property
    def remaining_work(self) -> Sequence[str] | None:
        is_over = self._turns.answer is not None and not self._in_turn
        return tuple(self._at_work.values()) if is_over else None

    @property
    def _failure(self) -> str | None:
        return None if self._turns.end is None else self._turns.end.result

    @property
    def _completed(self) -> bool:
        return self._turns.answer is not None and not self._in_turn

    def _remember(self, item: Item) -> None:
        if item.type and item.type != "error":
            self._has_items, self._last_error = True, ""
        match item.type:
            case "agent_message":
                self._text = item.text
                self._has_answer = self._has_answer or bool(item.text.strip())
                self._hear(item.text)
                self._skipped_lines = self._lines.too_long
            case "command_execution" if _NO_SANDBOX.match(item.aggregated_output):
                self._no_sandbox = one_line(item.aggregated_output)
            case "command_execution" | "file_change" if item.status == "completed":
                self._worked = True
                self._edits.add(change.path for change in item.changes)
            case "error" if len(self._remarks) < _MAX_REMARKS:
                self._remarks.append(one_line(item.message))
            case "collab_tool_call":
                # Subagents that did not finish; one that was closed had.
                for thread, state in item.agents_states.items():
                    if state.status in _CUT_OFF and len(self._remarks) < _MAX_REMARKS:
                        text = one_line(f"subagent {thread} {_CUT_OFF[state.status]}")
                        self._remarks += [text] if text not in self._remarks else []
            case _:
                pass

    def _unknown_end(self) -> str | None:
        if self._failure is not None:
            return None
        if self._other_end is not None:
            return f"ended with {self._other_end}"
        is_mute = self._completed and not self._has_answer and not self._is_empty and self._exit_code == 0
        return "ended without an answer" if is_mute else None

    def _error(self) -> str | None:
        if self._failure is not None:
            return one_line(self._failure, 1000) or "the turn failed, and no reason was given"
        words = self._words()
        reason = f": {words}" if words else ""
        if not self._completed or self._exit_code != 0:
            when = "after a turn that was completed" if self._completed else "before the end of the turn"
            return f"{exit_text(self._exit_code)} {when}{reason}"
        if self._is_empty:
            has_said = self._last_error or _SAYS_ERROR.search(error_line(self._stderr))
            return words if has_said else "its turn ended, and no model had been asked"
        if self._has_no_sandbox:
            return f"its sandbox cannot be set up here: {self._no_sandbox}"
        if self._is_other_thread:
            return f"worked in the session {self._thread or 'of no name'}, not in {self._requested} as asked"
        return None

    @property
    def _has_no_sandbox(self) -> bool:
        return bool(self._no_sandbox) and not self._worked

    @property
    def _is_other_thread(self) -> bool:
        return self._requested is not None and self._thread != self._requested

    def _refusal(self) -> FailureMatch | None:
        if self._failure is not None:
            return match_failure(self._failure, self._provider)
        if self._completed and self._has_no_sandbox:
            return FailureMatch(AgentFailure.FORBIDDEN, _REVIEW_HINT if self._reviews else _SANDBOX_HINT)
        if self._last_error:
            return match_failure(self._last_error, self._provider)
        if self._exit_code is None or (self._exit_code <= 0 and not self._is_empty):
            return None
        return self._find_refusal(error_line(self._stderr))

    def _words(self) -> str:
        return self._last_error or _REQUEST.sub("", error_line(self._stderr))

    @property
    def _is_empty(self) -> bool:
        """Whether the turn was completed though no model did anything in it."""
        return self._completed and not self._has_items and not any(self._totals.values())

    def _usage(self) -> Usage | None:
        """Return the tokens of this run alone: the program counts a thread over its resumes."""
        if not self._totals:
            return None
        before: Mapping[str, float] = {} if self._is_other_thread else self._previous
        # A smaller count than before means that the program started again from zero.
        if any(total < before.get(name, 0) for name, total in self._totals.items()):
            before = {}
        used = {name: int(total - before.get(name, 0)) for name, total in self._totals.items()}
        return Usage(
            input_tokens=used["input_tokens"],
            output_tokens=used["output_tokens"],
            cached_tokens=used["cached_input_tokens"],
        )


def _totals(usage: ThreadUsage) -> dict[str, float]:
    """Return the counters as printed; none if nothing was counted, as in a turn without a model."""
    totals = {name: float(count) for name, count in usage}
    return totals if any(totals.values()) else {}


def _blocked(stderr: str) -> str | None:
    """Describe the patches that the sandbox rejected, for which there is no event."""
    reasons = [one_line(reason) for reason in _REJECTED_PATCH.findall(stderr)]
    if not reasons:
        return None
    patches = "1 patch was" if len(reasons) == 1 else f"{len(reasons)} patches were"
    return f"{patches} rejected: {', '.join(sorted(set(reasons)))}"
