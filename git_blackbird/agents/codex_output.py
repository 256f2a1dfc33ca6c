"""What Codex's event stream says of a run; facts in AGENTS.md 3.2 to 3.7."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from git_blackbird.agents.activity import exit_text, one_line, tops_of
from git_blackbird.agents.codex_steps import CodexSteps
from git_blackbird.agents.json_lines import MAX_LINE_BYTES, JsonLines
from git_blackbird.agents.json_values import count_of, finite, object_of, text_of
from git_blackbird.agents.protocol import Assignment, JsonObject
from git_blackbird.agents.refusals import (
    Finding,
    Manual,
    find_refusal,
    find_refused_start,
    telling_line,
    unwrap,
)
from git_blackbird.messages.questions import parse_questions
from git_blackbird.model.conversation import Progress, ProgressKind, Reading, Refusal, Usage

CODEX_MANUAL = Manual(
    name="codex",
    package="@openai/codex",
    update="npm install -g @openai/codex@latest",
    login="log in with `codex login`, or set a valid CODEX_API_KEY",
)
COUNTERS = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)
_MAX_REMARKS = 5
# How its error line begins: with the request to its own server that failed.
_REQUEST = re.compile(r"^error: (?:(\w+/\w+): \1 failed: )?", re.IGNORECASE)
# Where its sandbox cannot be made, as in most containers, every command ends with this.
_NO_SANDBOX = re.compile(r"bwrap: \S")
_SANDBOX_HINT = (
    "if this machine is itself a sandbox, such as a container:"
    " git config blackbird.codex.sandbox danger-full-access"
)
_REVIEW_HINT = "its reviews need that sandbox: review with another agent, --agent claude"
_REJECTED_PATCH = re.compile(r" ERROR \S+: error=patch rejected: ([^\n;]*)")


class CodexReader:
    """Keeps the thread, the last message and how the turn ended; shows the steps in between."""

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = ()) -> None:
        self._reviews = assignment.read_only
        self._asked = assignment.session if assignment.resume else None
        self._previous = finite(assignment.previous_totals)
        self._manual = replace(CODEX_MANUAL, args=args, task_id=assignment.task_id)
        self._lines = JsonLines()
        self._steps = CodexSteps(tops_of(assignment.folder))
        self._thread: str | None = None
        self._began = False
        self._text = ""
        # Lines too long to be read, up to the last message that was read.
        self._passed_over = 0
        self._totals: dict[str, float] = {}
        self._completed = False
        self._failure: str | None = None
        self._printed = False
        self._remarks: list[str] = []
        self._no_sandbox = ""
        self._worked = False

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Take the next piece of standard output."""
        self._printed = self._printed or bool(data)
        return [step for line in self._lines.feed(data) for step in self._take(line)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> Reading:
        """Believe in success only when exit status, the end of the turn and the thread agree on it."""
        for line in self._lines.flush():
            list(self._take(line))
        error = self._error(exit_code, stderr_tail)
        questions = () if error else parse_questions(self._text)
        found = self._refusal(exit_code, stderr_tail) if error else None
        blocked = _blocked(stderr_tail)
        return Reading(
            succeeded=error is None and not questions,
            session=self._session,
            final_text=self._text,
            questions=questions,
            error=error,
            refusal=found.refusal if found else None,
            refusal_hint=found.hint if found else None,
            usage=self._usage(),
            raw_totals=self._totals or self._previous,
            notes=tuple(self._notes(blocked)),
            blocked=None if self._reviews else blocked,
            is_cut=self._lines.too_long > self._passed_over,
        )

    def _take(self, event: JsonObject) -> Iterator[Progress]:
        match event.get("type"):
            case "thread.started":
                self._thread = text_of(event.get("thread_id")) or None
            case "turn.started":
                self._began = True
            case "item.started" | "item.updated":
                yield from self._steps.started(object_of(event.get("item")))
            case "item.completed":
                item = object_of(event.get("item"))
                self._remember(item)
                yield from self._steps.completed(item)
            case "turn.completed":
                self._began, self._completed, self._failure = True, True, None
                self._totals = _totals(event.get("usage"))
                if self._totals:
                    yield Progress(ProgressKind.SPENDS, "", usage=self._usage())
            case "turn.failed":
                self._began, self._completed = True, False
                self._failure = unwrap(text_of(object_of(event.get("error")).get("message")))
            case "error":
                message = one_line(unwrap(text_of(event.get("message"))))
                if message:
                    yield Progress(ProgressKind.NOTE, message)
            case _:
                pass

    def _remember(self, item: JsonObject) -> None:
        match item.get("type"):
            case "agent_message":
                self._text = text_of(item.get("text"))
                self._passed_over = self._lines.too_long
            case "command_execution" if _NO_SANDBOX.match(text_of(item.get("aggregated_output"))):
                self._no_sandbox = one_line(text_of(item.get("aggregated_output")))
            case "command_execution" | "file_change" if item.get("status") == "completed":
                self._worked = True
            case "error" if len(self._remarks) < _MAX_REMARKS:
                self._remarks.append(one_line(text_of(item.get("message"))))
            case _:
                pass

    def _error(self, exit_code: int | None, stderr_tail: str) -> str | None:
        """Say why the run did not succeed; None when everything proves that it did."""
        if self._failure is not None:
            return one_line(self._failure, 1000) or "the turn failed, and no reason was given"
        if not self._completed:
            said = _REQUEST.sub("", telling_line(stderr_tail))
            return f"{exit_text(exit_code)} before the end of the turn" + (f": {said}" if said else "")
        if exit_code != 0:
            return f"{exit_text(exit_code)} after a turn that was completed"
        if self._has_no_sandbox:
            return f"its sandbox cannot be set up here: {self._no_sandbox}"
        if self._is_elsewhere:
            return f"worked in the session {self._thread or 'of no name'}, not in {self._asked} as asked"
        return None

    @property
    def _session(self) -> str | None:
        """The thread that can be resumed: one whose first turn never began may not have been saved."""
        if self._reviews:
            return None
        return self._thread if self._began or self._asked == self._thread else None

    @property
    def _has_no_sandbox(self) -> bool:
        return bool(self._no_sandbox) and not self._worked

    @property
    def _is_elsewhere(self) -> bool:
        return self._asked is not None and self._thread != self._asked

    def _refusal(self, exit_code: int | None, stderr_tail: str) -> Finding | None:
        """Say whether the program could not work at all, and the way out."""
        if self._failure is not None:
            return find_refusal(self._failure, self._manual)
        if self._completed and self._has_no_sandbox:
            return Finding(Refusal.FORBIDDEN, _REVIEW_HINT if self._reviews else _SANDBOX_HINT)
        if self._completed or exit_code is None or exit_code <= 0:
            return None
        found = find_refusal(telling_line(stderr_tail), self._manual)
        if found is None and not self._printed:
            return find_refused_start(exit_code, stderr_tail, self._manual)
        return found

    def _usage(self) -> Usage | None:
        """Give the tokens of this run alone: the program counts a thread over its resumes."""
        if not self._totals:
            return None
        before: Mapping[str, float] = {} if self._is_elsewhere else self._previous
        # Smaller than before, the program has begun to count anew.
        if any(self._totals[name] < before.get(name, 0) for name in COUNTERS):
            before = {}
        used = {name: int(self._totals[name] - before.get(name, 0)) for name in COUNTERS}
        return Usage(
            input_tokens=used["input_tokens"],
            output_tokens=used["output_tokens"],
            cached_tokens=used["cached_input_tokens"],
        )

    def _notes(self, blocked: str | None) -> Iterator[str]:
        if blocked:
            yield blocked
        yield from filter(None, self._remarks)
        if self._lines.too_long:
            yield f"{self._lines.too_long} lines of output longer than {MAX_LINE_BYTES} bytes were not read"


def _totals(usage: Any) -> dict[str, float]:
    """Give the counters as printed; none where nothing was counted, as in a turn without a model."""
    counted = object_of(usage)
    totals = {name: float(count_of(counted.get(name))) for name in COUNTERS}
    return totals if any(totals.values()) else {}


def _blocked(stderr_tail: str) -> str | None:
    """Say which patches the sandbox rejected: there is no event for them."""
    reasons = [one_line(reason) for reason in _REJECTED_PATCH.findall(stderr_tail)]
    if not reasons:
        return None
    patches = "1 patch was" if len(reasons) == 1 else f"{len(reasons)} patches were"
    return f"{patches} rejected: {', '.join(sorted(set(reasons)))}"
