"""What Claude Code's event stream says of a run; facts in AGENTS.md 2.2 to 2.7."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from git_blackbird.agents.activity import exit_text, last_line, one_line
from git_blackbird.agents.json_lines import MAX_LINE_BYTES, JsonLines
from git_blackbird.agents.protocol import Assignment, JsonObject
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Refusal, Usage

INSTALL_HINT = (
    "install Claude Code (npm package @anthropic-ai/claude-code) or choose another agent with --agent"
)
TOTAL_COST = "total_cost_usd"
_NOT_FOUND_STATUS = 127
_READING = frozenset({"Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch"})
_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_RUNNING = frozenset({"Bash", "BashOutput"})
_SUBJECTS = ("file_path", "notebook_path", "path", "pattern", "command", "url", "query", "description")
# What the program says when it cannot work at all, in the order in which it is looked for.
_REFUSALS = (
    ("No conversation found with session ID", Refusal.SESSION_UNKNOWN, "start anew with restart"),
    ("cannot be used with root/sudo privileges", Refusal.FORBIDDEN, "run as another user"),
    ("Please run /login", Refusal.NOT_LOGGED_IN, "run claude and log in with /login"),
    ("Not logged in", Refusal.NOT_LOGGED_IN, "run claude and log in with /login"),
    ("Invalid API key", Refusal.NOT_LOGGED_IN, "set a valid ANTHROPIC_API_KEY, or log in with /login"),
    ("usage limit reached", Refusal.USAGE_LIMIT, None),
    ("hit your limit", Refusal.USAGE_LIMIT, None),
    ("limit reached", Refusal.USAGE_LIMIT, None),
)


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
            raw_totals=_totals(result) or self._previous,
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
        said = "\n".join((_error_of(self._result) if self._result else "", stderr_tail))
        for phrase, refusal, hint in _REFUSALS:
            if phrase.lower() in said.lower():
                return refusal, hint or one_line(_line_with(said, phrase))
        if self._printed or exit_code is None or exit_code <= 0:
            return None, None
        if exit_code == _NOT_FOUND_STATUS:
            return Refusal.MISSING, INSTALL_HINT
        return Refusal.REFUSED, last_line(stderr_tail) or None

    def _notes(self, result: JsonObject) -> Iterator[str]:
        denials = result.get("permission_denials")
        if isinstance(denials, list) and denials:
            names = sorted({_text(denial.get("tool_name")) for denial in denials if isinstance(denial, dict)})
            yield one_line(f"{len(denials)} tool calls were denied: {', '.join(names)}")
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
        return sum(cost for cost in costs if cost is not None)
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


def _totals(result: JsonObject) -> dict[str, float]:
    total = _number(result.get(TOTAL_COST))
    return {} if total is None else {TOTAL_COST: total}


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


def _line_with(text: str, phrase: str) -> str:
    return next((line for line in text.splitlines() if phrase.lower() in line.lower()), "")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None
