"""What Claude Code's event stream says of a run; facts in AGENTS.md 2.2 to 2.7."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from git_blackbird.agents.activity import exit_text, one_line
from git_blackbird.agents.claude_steps import ClaudeSteps
from git_blackbird.agents.claude_usage import Account, UsageSoFar
from git_blackbird.agents.json_lines import MAX_LINE_BYTES, JsonLines
from git_blackbird.agents.json_values import finite, object_of, objects_of, text_of
from git_blackbird.agents.protocol import Assignment, JsonObject
from git_blackbird.agents.refusals import (
    Finding,
    Manual,
    explain,
    find_refusal,
    find_refused_start,
    telling_line,
)
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Refusal

CLAUDE_MANUAL = Manual(
    name="claude",
    package="@anthropic-ai/claude-code",
    update="claude update, or npm install -g @anthropic-ai/claude-code@latest",
    login="log in: claude auth login (or /login in claude); or set a valid ANTHROPIC_API_KEY",
)
_STATUS_REFUSALS = {
    401: Refusal.NOT_LOGGED_IN,
    402: Refusal.USAGE_LIMIT,
    403: Refusal.NOT_LOGGED_IN,
    404: Refusal.UNKNOWN_MODEL,
    413: Refusal.PROMPT_TOO_LONG,
    429: Refusal.USAGE_LIMIT,
}
_ENDS = {
    "prompt_too_long": Refusal.PROMPT_TOO_LONG,
    "blocking_limit": Refusal.PROMPT_TOO_LONG,
}
_OBJECT = "structured_output"
_FIRST_SIGNAL_STATUS = 128
_MAX_DENIALS = 1000


class ClaudeReader:
    """Keeps the session, the results and what was denied; shows the steps in between."""

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = ()) -> None:
        self._reviews = assignment.read_only
        self._wants_object = assignment.schema is not None
        # A reviewer's session is not kept: nobody asks for one by name.
        self._asked = None if assignment.read_only else assignment.session
        self._resumes = assignment.resume
        self._manual = replace(CLAUDE_MANUAL, args=args, task_id=assignment.task_id)
        self._lines = JsonLines()
        self._steps = ClaudeSteps(assignment.folder)
        self._so_far = UsageSoFar()
        self._named: str | None = None
        self._account = Account(finite(assignment.previous_totals))
        self._result: JsonObject = {}
        self._denials: dict[str, str] = {}
        self._printed = False
        self._conversed = False

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output."""
        self._printed = self._printed or bool(data)
        return [step for line in self._lines.feed(data) for step in self._take(line)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Believe in success only when exit status, result and session agree on it."""
        for line in self._lines.flush():
            list(self._take(line))
        text = self._final_text
        error = self._error(exit_code, stderr_tail)
        questions = () if error else parse_questions(text)
        found = self._refusal(exit_code, stderr_tail) if error else None
        denied = self._denied()
        return Reading(
            succeeded=error is None and not questions,
            session=self._session(exit_code),
            final_text=text,
            questions=questions,
            error=error,
            refusal=found.refusal if found else None,
            refusal_hint=found.hint if found else None,
            usage=self._account.usage,
            cost_usd=self._account.cost_usd,
            raw_totals=self._account.totals,
            notes=tuple(self._notes(denied)),
            blocked=None if self._reviews else denied,
        )

    @property
    def _final_text(self) -> str:
        found = self._result.get(_OBJECT) if self._wants_object else None
        text = text_of(self._result.get("result"))
        try:
            return text if found is None else json.dumps(found)
        except RecursionError:
            return text

    def _take(self, event: JsonObject) -> Iterator[Progress]:
        match event.get("type"):
            case "assistant":
                self._conversed = True
                changed = self._so_far.take_message(object_of(event.get("message")))
                steps = self._steps.of_message(event)
                yield from self._with_figures(steps) if changed else steps
            case "user":
                self._conversed = True
                yield from self._steps.of_answers(event)
            case "stream_event":
                self._conversed = True
                if self._so_far.take_partial(event):
                    yield Progress(ProgressKind.SPENDS, "", usage=self._so_far.usage)
            case "system" if event.get("subtype") == "init":
                self._named = text_of(event.get("session_id")) or None
                self._steps.enter(text_of(event.get("cwd")))
            case "system":
                yield from self._steps.of_system(event)
            case "result":
                yield self._end(event)
            case _:
                pass

    def _end(self, result: JsonObject) -> Progress:
        """Keep a result: the last one says how it ended, and all of them what it used."""
        self._result = result
        self._account.take(result)
        for denial in objects_of(result.get("permission_denials")):
            # A later result of the same run tells of the denials before it once more.
            call = text_of(denial.get("tool_use_id")) or str(len(self._denials))
            if len(self._denials) < _MAX_DENIALS:
                self._denials[call] = text_of(denial.get("tool_name"))
        account = self._account
        return Progress(ProgressKind.SPENDS, "", usage=account.usage, cost_usd=account.cost_usd)

    def _with_figures(self, steps: Iterator[Progress]) -> Iterator[Progress]:
        """Let the first step tell the figures, or one more where there is none."""
        first = next(steps, Progress(ProgressKind.SPENDS, ""))
        yield replace(first, usage=self._so_far.usage)
        yield from steps

    def _session(self, exit_code: int | None) -> str | None:
        """Give the conversation that can be resumed, as far as can be told.

        The program names it before it saves it: what was killed at once may have left nothing.
        """
        if self._reviews:
            return None
        ended_itself = exit_code is not None and exit_code >= 0
        if self._named and (self._resumes or self._conversed or self._result or ended_itself):
            return self._named
        proved = self._result.get("is_error") is False
        return (text_of(self._result.get("session_id")) or None) if proved else None

    def _error(self, exit_code: int | None, stderr_tail: str) -> str | None:
        """Say why the run did not succeed; None when everything proves that it did."""
        result, said = self._result, telling_line(stderr_tail)
        because = f": {said}" if said else ""
        if not self._result:
            return f"{exit_text(exit_code)} without a result{because}"
        if result.get("is_error") is not False or result.get("subtype") != "success":
            return _error_of(result)
        if exit_code != 0:
            return f"{exit_text(exit_code)} after a result that says success{because}"
        named = text_of(result.get("session_id")) or self._named
        if self._asked and named != self._asked:
            return f"worked in the session {named}, not in {self._asked} as asked"
        if self._wants_object and result.get(_OBJECT) is None:
            return "answered in prose, not in the form that was asked for"
        return None

    def _refusal(self, exit_code: int | None, stderr_tail: str) -> Finding | None:
        """Say whether the program could not work at all, and the way out."""
        if self._result:
            return self._refused_result()
        if exit_code is None or not 0 < exit_code < _FIRST_SIGNAL_STATUS:
            return None
        # Once it is at work, others may be heard on its standard error as well.
        said = telling_line(stderr_tail) if self._printed else stderr_tail
        found = find_refusal(said, self._manual)
        if found is None and not self._printed:
            return find_refused_start(exit_code, stderr_tail, self._manual)
        return found

    def _refused_result(self) -> Finding | None:
        result = self._result
        # Without an error of the program's own, the text is the model's.
        if result.get("is_error") is not True:
            return None
        said = _error_of(result)
        ended = _ENDS.get(text_of(result.get("terminal_reason")))
        if ended is not None:
            return explain(ended, said, self._manual)
        found = find_refusal(said, self._manual)
        if found is not None:
            return found
        status = result.get("api_error_status")
        refusal = _refusal_of_status(status) if isinstance(status, int) else None
        return explain(refusal, said, self._manual) if refusal else None

    def _denied(self) -> str | None:
        count, names = len(self._denials), sorted(set(self._denials.values()))
        if not count:
            return None
        calls = "1 tool call was" if count == 1 else f"{count} tool calls were"
        return one_line(f"{calls} denied: {', '.join(names)}")

    def _notes(self, denied: str | None) -> Iterator[str]:
        if denied:
            yield denied
        if self._lines.too_long:
            yield f"{self._lines.too_long} lines of output longer than {MAX_LINE_BYTES} bytes were not read"


def _refusal_of_status(status: int) -> Refusal | None:
    return Refusal.OUTAGE if status >= 500 else _STATUS_REFUSALS.get(status)


def _error_of(result: JsonObject) -> str:
    errors = result.get("errors")
    told = [text_of(part) for part in errors] if isinstance(errors, list) else []
    text = "; ".join(filter(None, told)) or text_of(result.get("result"))
    return one_line(text, 1000) or text_of(result.get("subtype")) or "a result without success"
