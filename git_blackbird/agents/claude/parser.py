"""Parse Claude Code's event stream to progress and an outcome."""

import json
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from git_blackbird.agents.claude.collected import (
    EDIT_TOOLS,
    BackgroundTasks,
    ClaudeEdits,
    Denials,
    LastMessage,
    LiveUsage,
    Remarks,
    UsageTotals,
    is_woken,
)
from git_blackbird.agents.claude.events import (
    EVENTS,
    Block,
    ErrorEvent,
    Event,
    LimitEvent,
    LimitInfo,
    MessageEvent,
    PromptOutcome,
    Result,
    StreamEvent,
    System,
)
from git_blackbird.agents.event_parser import (
    EventParser,
    Turn,
    Turns,
    bounded,
    relative_to_top,
    tool_step,
    top_folders,
    unfinished_word,
    waiting_steps,
)
from git_blackbird.agents.failures import (
    FailureMatch,
    ProviderHelp,
    error_line,
    exit_text,
    failure_hint,
    match_failure,
)
from git_blackbird.agents.protocol import Assignment
from git_blackbird.clean import one_line
from git_blackbird.model.run.agent_io import AgentFailure, Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question

# Versions without the first field have the second one.
_FINISHED: Mapping[str, frozenset[str]] = {
    "terminal_reason": frozenset({"completed"}),
    "stop_reason": frozenset({"end_turn", "stop_sequence"}),
}
_STATUS_REFUSALS = {
    401: AgentFailure.NOT_LOGGED_IN,
    402: AgentFailure.NO_CREDIT,
    403: AgentFailure.NOT_LOGGED_IN,
    404: AgentFailure.UNKNOWN_MODEL,
    413: AgentFailure.PROMPT_TOO_LONG,
    429: AgentFailure.USAGE_LIMIT,
}
REASON_REFUSALS = {
    "prompt_too_long": AgentFailure.PROMPT_TOO_LONG,
    "blocking_limit": AgentFailure.PROMPT_TOO_LONG,
    "rapid_refill_breaker": AgentFailure.CONTEXT_FULL,
}
_KIND_REFUSALS = {
    "authentication_failed": AgentFailure.NOT_LOGGED_IN,
    "billing_error": AgentFailure.NO_CREDIT,
    "rate_limit": AgentFailure.USAGE_LIMIT,
    "server_error": AgentFailure.OUTAGE,
}


def end_word(result: Result, text: str) -> str | None:
    """Return the unknown word of an end that is no error, "" if it has none; None if it means finished."""
    if result.subtype != "success":
        return one_line(result.subtype)
    word = unfinished_word(result, _FINISHED)
    # An object is an answer however its turn ended: with the call of a tool, or without any text or word.
    is_answered = result.structured_output is not None or (word == "" and bool(text.strip()))
    return None if is_answered and not result.terminal_reason else word


def error_of(result: Result, own_words: str) -> str:
    """Return the error of a result in its own words, or else in those that the program said before."""
    text = "; ".join(filter(None, result.errors)) or result.result
    return one_line(text, 1000) or own_words or result.subtype or "a result without success"


_KINDS = {
    **dict.fromkeys(
        ("Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"), ProgressKind.READS
    ),
    **dict.fromkeys(EDIT_TOOLS, ProgressKind.EDITS),
    **dict.fromkeys(("Bash", "BashOutput"), ProgressKind.RUNS),
}
_PATHS = frozenset({"file_path", "notebook_path", "path"})
_MAX_OPEN_CALLS = 1000
_FIRST_LINE_CHARACTERS = 100


class ClaudeProgress:
    """Report messages, each tool call when it is made, and its failure if it fails."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._tops = top_folders(folder)
        self._calls: dict[str, str] = {}

    def enter(self, cwd: str) -> None:
        self._tops = top_folders(self._folder, cwd)

    def of_message(self, event: MessageEvent) -> Iterator[Progress]:
        for block in event.message.content:
            if block.type == "text" and block.text.strip():
                if event.is_synthetic:
                    yield Progress(ProgressKind.NOTE, one_line(block.text))
                elif event.parent_tool_use_id:
                    yield Progress(ProgressKind.NOTE, one_line(f"a subagent says: {block.text}"))
                else:
                    yield Progress(ProgressKind.SAYS, bounded(block.text))
            elif block.type == "tool_use":
                yield from self._call(block)

    def of_answers(self, event: MessageEvent) -> Iterator[Progress]:
        for block in event.message.content:
            if block.type == "tool_result":
                call = self._calls.pop(block.tool_use_id, "")
                if block.is_error:
                    why = _first_line(block) or "failed"
                    yield Progress(ProgressKind.NOTE, one_line(f"{why}: {call}" if call else why))

    def _call(self, block: Block) -> Iterator[Progress]:
        name, value = next(((name, value) for name, value in vars(block.input).items() if value), ("", ""))
        subject = relative_to_top(value, self._tops) if name in _PATHS else value
        step = tool_step(_KINDS.get(block.name), block.name, subject)
        if block.id and len(self._calls) < _MAX_OPEN_CALLS:
            self._calls[block.id] = step.text
        if step.text:
            yield step


def _first_line(answer: Block) -> str:
    parts = (answer.content,) if isinstance(answer.content, str) else [part.text for part in answer.content]
    line = next(filter(None, parts), "").strip().partition("\n")[0]
    line = line.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
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


CLAUDE_HELP = ProviderHelp(
    name="claude",
    package="@anthropic-ai/claude-code",
    update="claude update, or npm install -g @anthropic-ai/claude-code@latest",
    login="log in: claude auth login (or /login in claude); or set a valid ANTHROPIC_API_KEY",
    phrases={AgentFailure.TOO_OLD: ("version of claude code .{0,40}needs an update",)},
)
_AT_CAP = "error_max_budget_usd"
_FIRST_SIGNAL_STATUS = 128


class ClaudeParser(EventParser[Event]):
    """Collect session, results and denials, and yield the steps in between."""

    events = EVENTS
    provider = CLAUDE_HELP

    def __init__(
        self, assignment: Assignment, args: tuple[str, ...] = (), folder: str = "", mode: str = ""
    ) -> None:
        super().__init__(assignment, args, folder)
        self._wants_object = assignment.schema is not None
        # A reviewer's session is not saved, so it has no requested name.
        self._requested = None if assignment.read_only else assignment.session
        self._is_capped = assignment.usd_left is not None
        self._resumes = assignment.resume
        self._steps = ClaudeProgress(self._folder)
        self._edits = ClaudeEdits()
        self._live_usage = LiveUsage()
        self._named = ""
        self._totals = UsageTotals(self._previous)
        self._turns: Turns[Result] = Turns()
        self._object: JsonValue = None
        self._last_message = LastMessage()
        self._background = BackgroundTasks()
        # Whether a turn has begun since the last result.
        self._in_turn = False
        self._denials = Denials()
        self._conversed = False
        self._remarks = Remarks(mode)
        self._unsent = ""
        self._worked = False
        # The program's own words of an error that no message of a model has followed, and its kind.
        self._own_words = self._own_kind = ""
        # The usage limit that refused the last request.
        self._limit: LimitInfo | None = None

    @property
    def remaining_work(self) -> Sequence[str] | None:
        """The background tasks at work after a result, until the next turn."""
        return self._background.names if self._result is not None and not self._in_turn else None

    @property
    def failed_later(self) -> bool:
        return self._turns.failed_later

    @property
    def _questions(self) -> tuple[Question, ...]:
        return super()._questions if self._object is None else ()

    @property
    def _result(self) -> Result | None:
        return None if self._turns.end is None else self._turns.end.result

    def _read(self) -> Ended:
        final_text, woken_texts = self._turns.texts
        if self._object is not None:
            final_text, woken_texts = json.dumps(self._object), ()
        return Ended(
            session=self._session(),
            final_text=final_text,
            woken_texts=woken_texts,
            # Without a result, as after a kill, the messages have the tokens that are known.
            usage=self._totals.usage if self._result is not None else self._live_usage.known,
            cost_usd=self._totals.cost_usd,
            raw_totals=self._totals.totals,
            blocked=self._denials.text or None,
            lacked="; ".join(self._remarks.at_start) or None,
            resets_at=self._limit.over_at if self._limit else None,
            notes=tuple(self._remarks.texts),
            edited=self._edits.paths,
            worked=self._worked,
            is_budget_spent=self._is_capped and self._result is not None and self._result.subtype == _AT_CAP,
        )

    def _take(self, event: Event) -> Iterator[Progress]:
        if isinstance(event, System | Result):
            yield from (Progress(ProgressKind.NOTE, text) for text in self._remarks.take(event))
        match event:
            case MessageEvent(type="assistant"):
                yield from self._take_message(event)
            case MessageEvent():
                self._conversed = True
                self._edits.take(event)
                for block in event.message.content:
                    self._tools.end(block.tool_use_id)
                yield from self._steps.of_answers(event)
            case StreamEvent():
                self._conversed = self._worked = True
            case ErrorEvent():
                self._own_words, self._own_kind = event.error or event.message, ""
                if text := one_line(self._own_words):
                    yield Progress(ProgressKind.NOTE, text)
            case LimitEvent(rate_limit_info=info):
                self._limit = info if info.is_rejected else None
            case System(subtype="init"):
                self._named = event.session_id
                self._in_turn = True
                self._steps.enter(event.cwd)
            case System(prompt_submit_outcome=PromptOutcome(kind=kind, reason=reason)) if kind:
                self._unsent = one_line(f"{kind}: {reason}" if reason else kind, 1000)
                yield Progress(ProgressKind.NOTE, self._unsent)
            case System():
                self._background.take(event)
                if text := _system_text(event):
                    yield Progress(ProgressKind.NOTE, one_line(text))
            case Result():
                yield from self._end(event)

    def _take_message(self, event: MessageEvent) -> Iterator[Progress]:
        self._conversed = True
        self._worked = self._worked or not event.is_synthetic
        if not event.parent_tool_use_id:
            self._in_turn = True
            if not event.is_synthetic:
                self._own_words = self._own_kind = ""
            elif event.error or event.text:
                self._own_words, self._own_kind = event.text, event.error
            if event.message.id != self._last_message.id:
                self._hear(self._last_message.text)
            self._last_message.take(event.message)
        for block in event.message.content:
            if block.type == "tool_use":
                self._tools.begin(block.id)
        self._edits.take(event)
        changed = self._live_usage.take_message(event.message)
        steps = self._steps.of_message(event)
        if changed:
            first = next(steps, Progress(ProgressKind.SPENDS, ""))
            yield first._replace(usage=self._live_usage.usage)
        yield from steps

    def _end(self, result: Result) -> Iterator[Progress]:
        text = result.result or self._last_message.text
        self._hear(self._last_message.text)
        self._forms.ask(self._denials.take(result))
        self._hear(text, ends_turn=True)
        has_failed = self._failure(result) is not None
        self._worked = self._worked or not has_failed
        is_finished = not has_failed and end_word(result, text) is None
        self._turns.take(Turn(result, text, is_woken(result.origin), is_finished=is_finished))
        if self._wants_object and result.structured_output is not None:
            self._object = result.structured_output
        self._last_message = LastMessage()
        self._in_turn = False
        self._totals.take(result)
        yield Progress(ProgressKind.SPENDS, "", usage=self._totals.usage, cost_usd=self._totals.cost_usd)
        yield from waiting_steps(self.remaining_work)

    def _session(self) -> str | None:
        """Return the conversation to resume; named before it is saved, a kill at once may lose it."""
        was_killed = self._exit_code is None or self._exit_code < 0
        if self._named and (self._resumes or self._conversed or self._result or not was_killed):
            return self._named
        has_succeeded = self._result is not None and self._result.is_error is False
        return (self._result.session_id or None) if self._result and has_succeeded else None

    def _unknown_end(self) -> str | None:
        end = self._turns.end
        if end is None or self._failure(end.result) is not None:
            return None
        word = end_word(end.result, end.text)
        if word:
            return f"ended with {word}"
        return "ended without an answer" if word == "" and self._exit_code == 0 else None

    def _error(self) -> str | None:
        result, message = self._result, self._words or error_line(self._stderr)
        reason = f": {message}" if message else ""
        if result is None:
            return f"{exit_text(self._exit_code)} without a result{reason}"
        if (failure := self._failure(result)) is not None:
            return failure
        if self._in_turn or self._exit_code != 0:
            when = "in the middle of a later turn" if self._in_turn else "after a result that says success"
            return f"{exit_text(self._exit_code)} {when}{reason}"
        session = result.session_id or self._named
        if self._requested and session != self._requested:
            return f"worked in the session {session or None}, not in {self._requested} as asked"
        if self._wants_object and self._object is None and not self._forms.questions:
            return "answered in prose, not in the required format"
        return None

    def _failure(self, result: Result) -> str | None:
        """Return the error of a result that says so, or for which no model was asked; None for any other."""
        # It may never say that it is no error.
        says_error = result.is_error is not False or result.subtype.startswith("error") or not result.subtype
        if says_error or self._own_kind:
            return error_of(result, self._words)
        if result.num_turns != 0 or self._worked:
            return None
        # As where a hook of the user's blocks the prompt.
        why = self._unsent or one_line(result.result.partition("\n")[0], _FIRST_LINE_CHARACTERS)
        return ": ".join(filter(None, ("its prompt did not reach the model", why)))

    def _refusal(self) -> FailureMatch | None:
        if (result := self._result) is not None and not self._in_turn:
            # Without an error of the program, the text comes from the model.
            if result.is_error is not True and not self._own_kind:
                return None
            message = error_of(result, self._words)
            refusal = REASON_REFUSALS.get(result.terminal_reason)
            if refusal is not None:
                return failure_hint(refusal, message, self._provider)
            return self._refused_in(message, result.api_error_status)
        if self._words:
            return self._refused_in(self._words, 0)
        if self._exit_code is None or not 0 < self._exit_code < _FIRST_SIGNAL_STATUS:
            return None
        # Once it works, other programs may write to its standard error as well.
        message = error_line(self._stderr) if self._printed else self._stderr
        return self._find_refusal(message)

    def _refused_in(self, message: str, status: int) -> FailureMatch | None:
        """Recognize a refusal in the program's words, or else by the status or the kind of the error."""
        failure = match_failure(message, self._provider)
        if failure is not None:
            return failure
        refusal = AgentFailure.OUTAGE if status >= 500 else _STATUS_REFUSALS.get(status)
        refusal = refusal or _KIND_REFUSALS.get(self._own_kind)
        refusal = refusal or (AgentFailure.USAGE_LIMIT if self._limit else None)
        return failure_hint(refusal, message, self._provider) if refusal else None

    @property
    def _words(self) -> str:
        return one_line(self._own_words, 1000) or self._own_kind
