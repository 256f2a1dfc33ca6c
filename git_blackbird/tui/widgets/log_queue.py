"""Bounded queue of the live log: events are never dropped, steps may be."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from git_blackbird.messages.display.checkpoint import Style, StyledLine

_MAX_STEPS = 200

MakeLines = Callable[[], Iterable[StyledLine]]
"""Formats an entry when it is drawn; most steps of a fast run never are."""


class LogQueue:
    """Keeps all entries in order; drops the oldest steps when there are too many, and counts them."""

    def __init__(self) -> None:
        self._events: list[tuple[int, MakeLines]] = []
        self._steps: deque[tuple[int, MakeLines]] = deque(maxlen=_MAX_STEPS)
        self._count = 0
        self._dropped = 0

    def put(self, text: str, tone: Style) -> None:
        """Add a text that is never dropped."""
        self._count += 1
        self._events.append((self._count, partial(_lines, text, tone)))

    def put_step(self, make_lines: MakeLines) -> None:
        """Add a step, dropping the oldest one if the queue is full."""
        self._count += 1
        self._dropped += len(self._steps) == _MAX_STEPS
        self._steps.append((self._count, make_lines))

    def put_lines(self, lines: Sequence[str]) -> None:
        """Add lines, the last ones if there are too many."""
        self._dropped += max(0, len(lines) - _MAX_STEPS)
        for text in lines[-_MAX_STEPS:]:
            self.put_step(partial(_lines, text, Style.PLAIN))

    def take(self) -> list[StyledLine]:
        """Return all lines and empty the queue."""
        entries = [*self._events, *self._steps]
        if self._dropped:
            remark = f"[{self._dropped} lines not shown]"
            entries.append((self._steps[0][0] - 1, partial(_lines, remark, Style.FAINT)))
        self._events.clear()
        self._steps.clear()
        self._dropped = 0
        return [
            line for _, make_lines in sorted(entries, key=lambda entry: entry[0]) for line in make_lines()
        ]


def _lines(text: str, tone: Style) -> list[StyledLine]:
    return [StyledLine(line, tone) for line in text.split("\n")]
