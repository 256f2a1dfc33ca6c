"""The common part of the event parsers: lines to events, and the outcome after the end."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from git_blackbird.agents.failures import FailureMatch, ProviderHelp, find_refused_start, match_failure
from git_blackbird.agents.json_events import MAX_LINE_BYTES, JsonEvents
from git_blackbird.agents.protocol import RunRequest
from git_blackbird.messages.incoming.questions import parse_questions
from git_blackbird.model.base.lenient import Lenient, finite_counters
from git_blackbird.model.entities.agent_io import AgentResult, Progress

E = TypeVar("E", bound=Lenient)


class EventParser(ABC, Generic[E]):
    """Parse the event stream of one run; subclasses handle the events of one program."""

    def __init__(
        self, events: TypeAdapter[E | tuple[E, ...]], assignment: RunRequest, manual: ProviderHelp
    ) -> None:
        self._reviews = assignment.read_only
        self._previous = finite_counters(assignment.previous_totals)
        self._manual = replace(manual, task_id=assignment.task_id)
        self._lines = JsonEvents(events)
        self._printed = False

    def feed(self, data: bytes) -> Sequence[Progress]:
        """Parse the next piece of standard output."""
        self._printed = self._printed or bool(data)
        return [step for event in self._lines.feed(data) for step in self._take(event)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> AgentResult:
        """Report success only if exit status, events and session agree on it."""
        for event in self._lines.flush():
            list(self._take(event))
        reading = self._read(exit_code, stderr_tail)
        questions = () if reading.error else parse_questions(reading.final_text)
        skipped = self._lines.too_long
        long_lines = f"{skipped} lines of output longer than {MAX_LINE_BYTES} bytes were not read"
        notes = (reading.blocked, *reading.notes, long_lines if skipped else None)
        return replace(
            reading,
            succeeded=reading.error is None and not questions,
            session=None if self._reviews else reading.session,
            questions=questions,
            notes=tuple(filter(None, notes)),
            blocked=None if self._reviews else reading.blocked,
        )

    @abstractmethod
    def _take(self, event: E) -> Iterator[Progress]:
        """Store the data of an event that the outcome needs, and yield progress."""

    @abstractmethod
    def _read(self, exit_code: int | None, stderr_tail: str) -> AgentResult:
        """Return the outcome according to the events; no ``error`` if everything indicates success."""

    def _find_refusal(self, message: str, exit_code: int | None, stderr_tail: str) -> FailureMatch | None:
        """Recognize a refusal in ``message``, or else an end before the first event."""
        found = match_failure(message, self._manual)
        if found is None and not self._printed:
            return find_refused_start(exit_code, stderr_tail, self._manual)
        return found
