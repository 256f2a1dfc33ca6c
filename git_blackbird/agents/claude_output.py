"""What Claude Code's event stream says of a run; facts in AGENTS.md 2.2 to 2.7."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.json_lines import MAX_LINE_BYTES, JsonLines
from git_blackbird.agents.protocol import Assignment, JsonObject
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Refusal, Usage
from git_blackbird.model.timestamps import format_timestamp

INSTALL_HINT = (
    "install Claude Code (npm package @anthropic-ai/claude-code) or choose another agent with --agent"
)
TOTAL_COST = "total_cost_usd"
_NOT_FOUND_STATUS = 127
_READING = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"})
_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_RUNNING = frozenset({"Bash", "BashOutput"})
_SUBJECTS = ("file_path", "notebook_path", "path", "pattern", "command", "url", "query", "description")
_LOGIN_HINT = "start claude and log in with /login, or set a valid ANTHROPIC_API_KEY"
# What the program says when it cannot work at all, in the order in which it is looked for. Without a
# hint of ours its own line is the hint: it names the time at which a limit resets.
_REFUSALS: tuple[tuple[str, Refusal, str | None], ...] = (
    ("No conversation found with session ID", Refusal.SESSION_UNKNOWN, "begin a new session with restart"),
    ("cannot be used with root/sudo privileges", Refusal.FORBIDDEN, "work as another user than root"),
    ("Please run /login", Refusal.NOT_LOGGED_IN, _LOGIN_HINT),
    ("Not logged in", Refusal.NOT_LOGGED_IN, _LOGIN_HINT),
    ("Invalid API key", Refusal.NOT_LOGGED_IN, _LOGIN_HINT),
    ("Failed to authenticate", Refusal.NOT_LOGGED_IN, _LOGIN_HINT),
    ("usage limit", Refusal.USAGE_LIMIT, None),
    ("You've hit your", Refusal.USAGE_LIMIT, None),
    ("out of usage credits", Refusal.USAGE_LIMIT, None),
    ("-hour limit reached", Refusal.USAGE_LIMIT, None),
    ("weekly limit reached", Refusal.USAGE_LIMIT, None),
)
_STATUS_REFUSALS = {
    401: (Refusal.NOT_LOGGED_IN, _LOGIN_HINT),
    429: (Refusal.USAGE_LIMIT, None),
}
_RESET_SECONDS = re.compile(r"\|(\d{10})\b")


class ClaudeReader:
    """Keeps the session, the last result and what was denied; shows the steps in between."""

    def __init__(self, assignment: Assignment) -> None:
        self._asked = assignment.session
        self._previous = dict(assignment.previous_totals)
        self._lines = JsonLines()
        self._session: str | None = None
        self._folder = ""
        self._result: JsonObject | None = None
        self._printed = False

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output."""
        self._printed = self._printed or bool(data)
        return [step for line in self._lines.feed(data) for step in self._take(line)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Believe in success only when exit status, result and session agree on it."""
        for line in self._lines.flush():
            list(self._take(line))
        result = self._result or {}
        text = _text(result.get("result"))
        error = self._error(exit_code, stderr_tail)
        questions = () if error else parse_questions(text)
        refusal, hint = (None, None) if not error else self._refusal(exit_code, stderr_tail)
        return Reading(
            succeeded=error is None and not questions,
            session=self._session,
            final_text=text,
            questions=questions,
            error=error,
            refusal=refusal,
            refusal_hint=hint,
            usage=_usage(result.get("usage")),
            cost_usd=run_cost(result, self._previous),
            raw_totals=_totals(result, self._previous),
            notes=tuple(self._notes(result)),
        )

    def _take(self, event: JsonObject) -> Iterator[Progress]:
        match event.get("type"):
            case "system" if event.get("subtype") == "init":
                self._session = _text(event.get("session_id")) or None
                self._folder = _text(event.get("cwd"))
            case "assistant":
                yield from self._steps(event.get("message"))
            case "result":
                self._result = event
            case _:
                pass

    def _steps(self, message: Any) -> Iterator[Progress]:
        blocks = message.get("content") if isinstance(message, dict) else None
        for block in blocks if isinstance(blocks, list) else ():
            step = self._step(block) if isinstance(block, dict) else None
            if step is not None and step.text:
                yield step

    def _step(self, block: JsonObject) -> Progress | None:
        match block.get("type"):
            case "text":
                return Progress(ProgressKind.SAYS, one_line(_text(block.get("text"))))
            case "tool_use":
                return self._tool_step(_text(block.get("name")), block.get("input"))
            case _:
                return None

    def _tool_step(self, name: str, given: Any) -> Progress:
        values = given if isinstance(given, dict) else {}
        subject = next((_text(values[key]) for key in _SUBJECTS if values.get(key)), "")
        shown = one_line(self._relative(subject))
        for names, kind in (
            (_READING, ProgressKind.READS),
            (_EDITING, ProgressKind.EDITS),
            (_RUNNING, ProgressKind.RUNS),
        ):
            if name in names and shown:
                return Progress(kind, shown)
        return Progress(ProgressKind.TOOL, one_line(f"{name} {shown}".strip()))

    def _relative(self, subject: str) -> str:
        path = PurePath(subject)
        if self._folder and path.is_absolute() and path.is_relative_to(self._folder):
            return str(path.relative_to(self._folder))
        return subject

    def _error(self, exit_code: int | None, stderr_tail: str) -> str | None:
        """Say why the run did not succeed; None when everything proves that it did."""
        result = self._result
        if result is None:
            said = last_line(stderr_tail)
            return f"{exit_text(exit_code)} without a result" + (f": {said}" if said else "")
        if result.get("is_error") is not False or result.get("subtype") != "success":
            return _error_of(result)
        if exit_code != 0:
            return f"{exit_text(exit_code)} after a result that says success"
        named = _text(result.get("session_id")) or self._session
        if self._asked and named != self._asked:
            return f"worked in the session {named}, not in {self._asked} as asked"
        return None

    def _refusal(self, exit_code: int | None, stderr_tail: str) -> tuple[Refusal | None, str | None]:
        """Say whether the program could not work at all, and the way out."""
        said = stderr_tail if self._result is None else _error_of(self._result)
        for phrase, refusal, hint in _REFUSALS:
            if phrase.lower() in said.lower():
                return refusal, hint or _limit_hint(_line_with(said, phrase))
        status = self._result.get("api_error_status") if self._result else None
        if isinstance(status, int) and status in _STATUS_REFUSALS:
            refusal, hint = _STATUS_REFUSALS[status]
            return refusal, hint or _limit_hint(said)
        if self._printed or exit_code is None or exit_code <= 0:
            return None, None
        if exit_code == _NOT_FOUND_STATUS:
            return Refusal.MISSING, INSTALL_HINT
        # Not one event: the program has refused its arguments.
        return Refusal.REFUSED, last_line(stderr_tail) or None

    def _notes(self, result: JsonObject) -> Iterator[str]:
        denials = result.get("permission_denials")
        if isinstance(denials, list) and denials:
            names = sorted({_text(denial.get("tool_name")) for denial in denials if isinstance(denial, dict)})
            calls = "1 tool call was" if len(denials) == 1 else f"{len(denials)} tool calls were"
            yield one_line(f"{calls} denied: {', '.join(names)}")
        if self._lines.too_long:
            yield f"{self._lines.too_long} lines of output longer than {MAX_LINE_BYTES} bytes were not read"


def run_cost(result: JsonObject, previous: Mapping[str, float]) -> float | None:
    """Give the US dollars of this run alone; None when the result names none.

    Newer versions count a session over its resumes, older ones a run: the usage since the last result
    tells, else whether the model's tokens are more than this run's, else a total smaller than before.
    """
    total = _number(result.get(TOTAL_COST))
    since = result.get("model_usage_since_last_result")
    if isinstance(since, dict):
        costs = [_number(part.get("costUSD")) for part in since.values() if isinstance(part, dict)]
        return math.fsum(cost for cost in costs if cost is not None)
    if total is None or _counts_this_run_only(result):
        return total
    before = previous.get(TOTAL_COST, 0.0)
    return total - before if total >= before else total


def _counts_this_run_only(result: JsonObject) -> bool:
    usage, by_model = result.get("usage"), result.get("modelUsage")
    if not isinstance(usage, dict) or not isinstance(by_model, dict) or not by_model:
        return False
    parts = [part for part in by_model.values() if isinstance(part, dict)]
    return sum(_count(part.get("outputTokens")) for part in parts) == _count(usage.get("output_tokens"))


def _totals(result: JsonObject, previous: Mapping[str, float]) -> dict[str, float]:
    total = _number(result.get(TOTAL_COST))
    # A session that could not be opened counts from zero: the next resume still continues the old one.
    return {TOTAL_COST: total} if total else dict(previous)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    cached = _count(value.get("cache_read_input_tokens"))
    return Usage(
        input_tokens=_count(value.get("input_tokens"))
        + _count(value.get("cache_creation_input_tokens"))
        + cached,
        output_tokens=_count(value.get("output_tokens")),
        cached_tokens=cached,
    )


def _error_of(result: JsonObject) -> str:
    errors = result.get("errors")
    told = [_text(part) for part in errors] if isinstance(errors, list) else []
    text = "; ".join(filter(None, told)) or _text(result.get("result"))
    return one_line(text, 1000) or _text(result.get("subtype")) or "a result without success"


def _limit_hint(line: str) -> str:
    """Give the line that names a limit, with the time that older versions write as a number put in words."""
    reset = _RESET_SECONDS.search(line)
    if reset is None:
        return one_line(line)
    return f"{one_line(line[: reset.start()])}, resets at {format_timestamp(int(reset[1]) * 10**9)}"


def _line_with(text: str, phrase: str) -> str:
    return next((line for line in text.splitlines() if phrase.lower() in line.lower()), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
