"""Parse the streams of programs that give one answer a run, and whose log has what the stream leaves out."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from git_blackbird.agents.event_parser import EventParser, bounded, relative_to_top, tool_step, top_folders
from git_blackbird.agents.failures import FailureMatch, exit_text
from git_blackbird.agents.protocol import Assignment
from git_blackbird.clean import one_line
from git_blackbird.model.base.lenient import Lenient
from git_blackbird.model.run.agent_io import Progress, ProgressKind
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parts import Usage

E = TypeVar("E", bound=Lenient)


class AnswerParser(EventParser[E]):
    """Collect session, answer, error and usage; a subclass fills them in as it takes the events.

    ``tools`` are the program's names for tools that read, edit and run.
    """

    tools: Mapping[str, ProgressKind]

    def __init__(self, assignment: Assignment, args: tuple[str, ...] = (), folder: str = "") -> None:
        super().__init__(assignment, args, folder)
        self._requested = assignment.session if assignment.resume else None
        self._tops = top_folders(self._folder)
        self._session = self._text = self._failure = ""
        # Whether the last thing that happened was the end of an answer.
        self._completed = self._worked = False
        # The word of an end that is neither finished nor failed; "" where it did not answer.
        self._end_word: str | None = None
        self._denied: list[str] = []
        self._skipped_lines = 0
        self._usage: Usage | None = None
        self._cost: float | None = None

    @property
    def remaining_work(self) -> Sequence[str] | None:
        """Nothing, once it has answered."""
        return () if self._completed or self._end_word is not None else None

    @abstractmethod
    def _words(self) -> str:
        """Return the program's last words of an error in its log; "" if there are none."""

    def _says(self, text: str) -> Iterator[Progress]:
        if text.strip():
            self._worked, self._skipped_lines = True, self._lines.too_long
            yield Progress(ProgressKind.SAYS, bounded(text))

    def _uses(self, tool: str, path: str, subject: str) -> Progress:
        self._worked = True
        return tool_step(self.tools.get(tool), tool, relative_to_top(path, self._tops) if path else subject)

    def _notes(self, text: str) -> Progress:
        return Progress(ProgressKind.NOTE, one_line(text) or "an error without words")

    def _fails(self, text: str, code: str = "") -> Progress:
        self._failure = f"{one_line(text, 1000) or 'no reason was given'}{code}"
        return self._notes(self._failure)

    def _spends(self) -> Progress:
        return Progress(ProgressKind.SPENDS, "", usage=self._usage, cost_usd=self._cost)

    def _last_error(self) -> str:
        """Return the last words of an error that it has not got over; "" if there are none."""
        if self._completed or self._end_word is not None:
            return self._end_word or ""
        return self._failure or one_line(self._words(), 1000)

    def _read(self) -> Ended:
        denied = ", ".join(sorted(set(self._denied)))
        return Ended(
            session=self._session or None,
            final_text=self._text,
            usage=self._usage,
            cost_usd=self._cost,
            blocked=f"its permissions denied it: {denied}" if denied else None,
            is_cut=self._lines.too_long > self._skipped_lines,
            worked=self._worked,
            last_error=self._last_error() or None,
        )

    def _unknown_end(self) -> str | None:
        if self._end_word:
            return f"ended with {self._end_word}"
        has_worked = self._worked or (self._usage is not None and self._usage.output_tokens > 0)
        is_mute = self._end_word is not None and has_worked and self._exit_code == 0
        return "ended without an answer" if is_mute else None

    def _error(self) -> str | None:
        if self._failure:
            return self._failure
        if not self._completed or self._exit_code != 0:
            when = "after its answer" if self._completed else "before its answer"
            return ": ".join(filter(None, (f"{exit_text(self._exit_code)} {when}", self._last_error())))
        if self._requested is not None and self._session != self._requested:
            return f"worked in the session {self._session}, not in {self._requested} as asked"
        return None

    def _refusal(self) -> FailureMatch | None:
        return self._find_refusal(self._last_error())
