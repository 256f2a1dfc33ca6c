"""Parse streams of events to progress and an outcome: the turns, the edits, what an agent asks."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from pydantic import TypeAdapter

from git_blackbird.agents.failures import FailureMatch, ProviderHelp, find_refused_start, match_failure
from git_blackbird.agents.json_events import MAX_LINE_BYTES, E, JsonEvents
from git_blackbird.agents.protocol import Assignment
from git_blackbird.clean import one_line
from git_blackbird.messages.incoming.questions import StandingForms
from git_blackbird.model.base.lenient import Lenient, finite_counters
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Question

MAX_MESSAGE_CHARACTERS = 8192
_MAX_WORD_CHARACTERS = 200


class EventParser(ABC, Generic[E]):
    """Parse the events of one run.

    ``args`` are the arguments that the configuration adds, ``folder`` is the top of the worktree.
    """

    needs_all = True
    events: TypeAdapter[E | tuple[E, ...]]
    provider: ProviderHelp

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = (), folder: str = "") -> None:
        self._reviews = assignment.read_only
        self._folder = folder
        self._previous = finite_counters(assignment.previous_totals)
        self._provider = self.provider._replace(args=args, task_id=assignment.task_id)
        self._lines = JsonEvents(self.events)
        self._forms = StandingForms()
        self._tools = ToolSteps()
        self._printed = False
        # Of its end, once that is known.
        self._exit_code: int | None = None
        self._stderr = ""

    def feed(self, data: bytes) -> Sequence[Progress]:
        self._printed = self._printed or bool(data)
        return [step for event in self._lines.feed(data) for step in self._take(event)]

    def finish(self, exit_code: int | None, stderr_tail: str) -> Ended:
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
        return reading._replace(
            succeeded=error is None and not questions,
            error=error,
            refusal=failure.refusal if failure else None,
            way_out=failure.hint if failure else None,
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
        return self._forms.questions

    @property
    def remaining_work(self) -> Sequence[str] | None:
        return None

    @property
    def step(self) -> int | None:
        return self._tools.at_work

    @property
    def failed_later(self) -> bool:
        """Whether a turn failed that nobody asked for: then the request before it is still open."""
        return False

    @abstractmethod
    def _take(self, event: E) -> Iterator[Progress]:
        """Store the data of an event that the outcome needs, and yield progress."""

    @abstractmethod
    def _read(self) -> Ended:
        """Return the outcome according to the events, without ``error`` and what follows from it."""

    @abstractmethod
    def _unknown_end(self) -> str | None:
        """Return how it ended by itself, if that is known neither to mean finished nor to be a failure."""

    @abstractmethod
    def _error(self) -> str | None:
        """Return the error of a known end; None if everything indicates success."""

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
    """Return the word of an end that is not known to mean finished; None if it is, "" if it has none.

    ``finished`` has such words by the field of the event; the first field that has any word decides.
    """
    for name, words in finished.items():
        if word := getattr(event, name):
            return None if word in words else one_line(word, _MAX_WORD_CHARACTERS)
    return ""


def waiting_steps(names: Sequence[str] | None) -> Iterator[Progress]:
    if names:
        text = f"it has answered; still at work in the background: {', '.join(names)}"
        yield Progress(ProgressKind.WAITS, text)


def bounded(text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tool_step(kind: ProgressKind | None, tool: str, subject: str) -> Progress:
    """Return the step of a tool that is used on ``subject``; its kind is None for any other tool."""
    line = one_line(subject)
    if kind is None or not line:
        return Progress(ProgressKind.TOOL, one_line(f"{tool} {line}"))
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


R = TypeVar("R")
_MAX_TURNS = 20


class Turn(NamedTuple, Generic[R]):
    """A turn; ``is_woken`` is None if unknown, ``is_finished`` where its end is known to mean that."""

    result: R
    text: str = ""
    is_woken: bool | None = None
    is_finished: bool = True


class Turns(Generic[R]):
    """The turns that have ended; of very many, the first and the last ones."""

    def __init__(self) -> None:
        self._turns: list[Turn[R]] = []
        self._says_origin = False

    def take(self, turn: Turn[R]) -> None:
        self._says_origin = self._says_origin or turn.is_woken is not None
        self._turns.append(turn)
        if len(self._turns) > _MAX_TURNS:
            del self._turns[1]

    @property
    def answer(self) -> Turn[R] | None:
        """The last turn that answers us."""
        return next((turn for turn in reversed(self._turns) if not self._is_woken(turn)), None)

    @property
    def woken(self) -> Sequence[Turn[R]]:
        """The turns that background work began, in order."""
        return [turn for turn in self._turns if self._is_woken(turn)]

    @property
    def end(self) -> Turn[R] | None:
        """The turn with which the process ended: the last one that did not finish, else the last one."""
        answer = self.answer
        counted = [turn for turn in self._turns if turn is answer or self._is_woken(turn)]
        unfinished = [turn for turn in counted if not turn.is_finished]
        return next(reversed(unfinished or counted), None)

    @property
    def texts(self) -> tuple[str, tuple[str, ...]]:
        answer = self.answer
        woken = (turn.text for turn in self.woken)
        return answer.text if answer else "", tuple(text for text in woken if text.strip())

    @property
    def failed_later(self) -> bool:
        answer = self.answer
        return answer is not None and answer.is_finished and not all(turn.is_finished for turn in self.woken)

    def _is_woken(self, turn: Turn[R]) -> bool:
        return turn.is_woken is True if self._says_origin else turn is not self._turns[0]


_MAX_OPEN_CALLS = 1000
_MAX_PATHS = 1000
_LONGEST_PATH = 4096


class ToolSteps:
    """Counts the steps of an agent; one lasts while any of the tools is at work that it calls together."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._begun = 0

    @property
    def at_work(self) -> int | None:
        return self._begun if self._open else None

    def begin(self, call: str) -> None:
        self._begun += not self._open
        if len(self._open) < _MAX_OPEN_CALLS:
            self._open.add(call)

    def end(self, call: str) -> None:
        self._open.discard(call)


class Edits:
    """Collects absolute paths of successful edits; failed or denied ones do not count."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}
        self._paths: dict[str, None] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self._paths)

    def begin(self, call: str, path: str) -> None:
        if call and len(self._open) < _MAX_OPEN_CALLS:
            self._open[call] = path

    def end(self, call: str, *, is_done: bool) -> None:
        """Note the answer to a call, which may be of any tool."""
        path = self._open.pop(call, None)
        if path is not None and is_done:
            self.add([path])

    def add(self, paths: Iterable[str]) -> None:
        for path in paths:
            is_path = path.startswith("/") and len(path) <= _LONGEST_PATH and "\0" not in path
            if is_path and len(self._paths) < _MAX_PATHS:
                self._paths[path] = None
