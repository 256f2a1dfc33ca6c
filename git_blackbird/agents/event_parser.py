"""Parse streams of events: lines to events, one JSON object a line among anything else, and the outcome."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Generic, TypeVar

from pydantic import Field, TypeAdapter

from git_blackbird.agents.failures import FailureMatch, ProviderHelp, find_refused_start, match_failure
from git_blackbird.agents.merged_lines import split_objects
from git_blackbird.agents.protocol import RunRequest
from git_blackbird.messages.incoming.questions import StandingForms
from git_blackbird.model.base.lenient import Fallback, Lenient, Valid, finite_counters, replace_surrogates
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.run.agent_io import AgentResult, Progress, ProgressKind
from git_blackbird.model.run.parts import Question

_LINE_ENDS = re.compile(rb"\n{2,}")
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_MESSAGE_CHARACTERS = 8192
_MAX_WORD_CHARACTERS = 200
E = TypeVar("E", bound=Lenient)
Line = Annotated[E | tuple[Valid[E], ...], Field(union_mode="left_to_right"), Fallback(())]


class JsonEvents(Generic[E]):
    """Split a stream into lines and parse the events in them: one a line, or an array of events.

    Lines longer than ``MAX_LINE_BYTES`` are skipped and counted in ``too_long``; other lines without an event
    are skipped silently. A line may hold several events, or one that was written into the middle of another.
    """

    def __init__(self, events: TypeAdapter[E | tuple[E, ...]]) -> None:
        # Bypasses the adapter's own method, which doubles the cost of a short line.
        self._validate: Callable[[bytes | str], E | tuple[E, ...]] = events.validator.validate_json
        self._partial = bytearray()
        self._skipping = False
        self._torn = ""
        self.too_long = 0

    def feed(self, data: bytes) -> Iterator[E]:
        """Add the next piece of the stream, and yield the events that it completes."""
        # Of many line ends in a row, which hold no event, one is enough.
        *lines, rest = _LINE_ENDS.sub(b"\n", data).split(b"\n")
        for line in lines:
            if self._partial or self._skipping or len(line) > MAX_LINE_BYTES:
                self._extend(line)
                yield from self.flush()
            else:
                yield from self._events_in(line)
        self._extend(rest)

    def flush(self) -> Sequence[E]:
        """Yield the events of a last line without a line end."""
        line = bytes(self._partial)
        self._partial.clear()
        self._skipping = False
        return self._events_in(line)

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._partial) + len(part) > MAX_LINE_BYTES:
            self._skipping = True
            self.too_long += 1
            self._partial.clear()
        else:
            self._partial += part

    def _events_in(self, line: bytes) -> Sequence[E]:
        if not line.lstrip().startswith((b"{", b"[")):
            return self._recovered(line) if self._torn and line.strip() else ()
        try:
            return self._parsed(line)
        except ValueError:
            return self._recovered(line)

    def _parsed(self, text: bytes | str) -> Sequence[E]:
        events = self._validate(text)
        return (events,) if isinstance(events, Lenient) else events

    def _recovered(self, line: bytes) -> Sequence[E]:
        """Return the events in a line that is not JSON, or only with the beginning of an earlier line."""
        texts, rest = split_objects(self._torn + replace_surrogates(line.decode(errors="replace")))
        # An event that was written into the middle of another brought its line end: the rest follows.
        self._torn = rest if texts and len(rest) <= MAX_LINE_BYTES else ""
        events: list[E] = []
        for text in texts:
            with suppress(ValueError):
                events += self._parsed(text)
        return events


class EventParser(ABC, Generic[E]):
    """Parse the event stream of one run; subclasses handle the ``events`` of one program.

    ``args`` are the arguments that the configuration adds.
    """

    needs_all = True
    events: TypeAdapter[E | tuple[E, ...]]
    provider: ProviderHelp

    def __init__(self, request: RunRequest, args: tuple[str, ...] = ()) -> None:
        self._reviews = request.read_only
        self._previous = finite_counters(request.previous_totals)
        self._provider = replace(self.provider, args=args, task_id=request.task_id)
        self._lines = JsonEvents(self.events)
        self._forms = StandingForms()
        self._printed = False
        # Of its end, once that is known.
        self._exit_code: int | None = None
        self._stderr = ""

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Parse the next piece of standard output."""
        self._printed = self._printed or bool(data)
        return [step for event in self._lines.feed(data) for step in self._take(event)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> AgentResult:
        """Report success only if exit status, events and session agree on it."""
        self._exit_code, self._stderr = exit_code, stderr_tail
        for event in self._lines.flush():
            list(self._take(event))
        unknown = self._unknown_end()
        error = self._error() if unknown is None else f"{self.provider.name} {unknown}"
        failure = self._refusal() if error else None
        reading = self._read()
        is_open = unknown is not None or self.failed_later
        is_asked = error is None or (is_open and not self._reviews)
        questions = self._questions if is_asked else ()
        skipped = self._lines.too_long
        long_lines = f"{skipped} lines of output longer than {MAX_LINE_BYTES} bytes were not read"
        notes = (reading.blocked, *reading.notes, long_lines if skipped else None)
        return replace(
            reading,
            succeeded=error is None and not questions,
            error=error,
            refusal=failure.refusal if failure else None,
            refusal_hint=failure.hint if failure else None,
            session=None if self._reviews else reading.session,
            questions=questions,
            rulings=self._forms.rulings,
            is_unknown_end=unknown is not None and failure is None,
            notes=tuple(filter(None, notes)),
            blocked=None if self._reviews else reading.blocked,
            worked=reading.worked or (reading.usage is not None and reading.usage.output_tokens > 0),
        )

    @property
    def _questions(self) -> tuple[Question, ...]:
        """What it asks, if its end is such that it asks."""
        return self._forms.questions

    @property
    def remaining_work(self) -> Sequence[str] | None:
        """None: this program ends with its result."""
        return None

    @property
    def failed_later(self) -> bool:
        """Whether a turn failed that nobody asked for: then the request before it is still open."""
        return False

    @abstractmethod
    def _take(self, event: E) -> Iterator[Progress]:
        """Store the data of an event that the outcome needs, and yield progress."""

    @abstractmethod
    def _read(self) -> AgentResult:
        """Return the outcome according to the events, without ``error`` and what follows from it."""

    @abstractmethod
    def _unknown_end(self) -> str | None:
        """Return how it ended by itself, if that is known neither to mean finished nor to be a failure."""

    @abstractmethod
    def _error(self) -> str | None:
        """Return the error of an end that is known; None if everything indicates success."""

    @abstractmethod
    def _refusal(self) -> FailureMatch | None:
        """Return why the program could not work, if that is known to be the reason of the error."""

    def _hear(self, message: str, *, ends_turn: bool = False) -> None:
        """Read the forms in a message of the model; of reviewers, the last one of a turn is the answer."""
        if ends_turn or not self._reviews:
            self._forms.take(message)

    def _find_refusal(self, message: str) -> FailureMatch | None:
        """Recognize a refusal in ``message``, or else an end before the first event."""
        failure = match_failure(message, self._provider)
        if failure is None and not self._printed:
            return find_refused_start(self._exit_code, self._stderr, self._provider)
        return failure


def unfinished_word(event: Lenient, finished: Mapping[str, frozenset[str]]) -> str | None:
    """Return the word of an end that is not among those that mean finished; None if it is, "" if it has none.

    ``finished`` has these words by the field of the event; the first field that has any word decides.
    """
    for name, words in finished.items():
        if word := getattr(event, name):
            return None if word in words else clean_line(word, _MAX_WORD_CHARACTERS)
    return ""


def waiting_steps(names: Sequence[str] | None) -> Iterator[Progress]:
    """Yield a step that names the background work of an agent that has answered."""
    if names:
        text = f"it has answered; still at work in the background: {', '.join(names)}"
        yield Progress(ProgressKind.WAITS, text)


def bounded(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    """Return at most ``limit`` characters of ``text``."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tool_step(kind: ProgressKind | None, tool: str, subject: str) -> Progress:
    """Return the step of a tool of this kind, None for any other; ``subject`` is what it is used on."""
    line = clean_line(subject)
    if kind is None or not line:
        return Progress(ProgressKind.TOOL, clean_line(f"{tool} {line}"))
    return Progress(kind, line)


def top_folders(*folders: str) -> tuple[str, ...]:
    """Return the spellings of a worktree's top that a program may print, for ``relative_to_top``."""
    tops = [folder.rstrip("/") for folder in folders if folder.startswith("/")]
    return tuple(dict.fromkeys(path for top in tops for path in (top, os.path.realpath(top)) if path))


def relative_to_top(path: str, tops: Sequence[str]) -> str:
    """Return a path relative to the worktree's top; a path outside unchanged."""
    for top in tops:
        if path == top or path.startswith(f"{top}/"):
            return path[len(top) :].strip("/") or "."
    return path
