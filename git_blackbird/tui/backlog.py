"""What waits to be drawn: what happened in any case, what agents do as far as it can be read."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from git_blackbird.messages.checkpoint_text import Line, Tone

_MOST = 200

Words = Callable[[], Iterable[Line]]
"""Says something once it is drawn: most of what comes fast never is."""


class Backlog:
    """Keeps the order of all that waits. Of what is too much the oldest goes, and its number is told."""

    def __init__(self) -> None:
        self._events: list[tuple[int, Words]] = []
        self._steps: deque[tuple[int, Words]] = deque(maxlen=_MOST)
        self._count = 0
        self._passed_over = 0

    def put(self, text: str, tone: Tone) -> None:
        """Have a text drawn in any case."""
        self._count += 1
        self._events.append((self._count, partial(_lines, text, tone)))

    def put_step(self, words: Words) -> None:
        """Have something drawn unless more comes than can be read."""
        self._count += 1
        self._passed_over += len(self._steps) == _MOST
        self._steps.append((self._count, words))

    def put_lines(self, lines: Sequence[str]) -> None:
        """Have lines drawn, the last of them where they are too many."""
        self._passed_over += max(0, len(lines) - _MOST)
        for text in lines[-_MOST:]:
            self.put_step(partial(_lines, text, Tone.PLAIN))

    def take(self) -> list[Line]:
        """Give what is to be drawn by now."""
        waiting = [*self._events, *self._steps]
        if self._passed_over:
            remark = f"[{self._passed_over} lines passed over]"
            waiting.append((self._steps[0][0] - 1, partial(_lines, remark, Tone.FAINT)))
        self._events.clear()
        self._steps.clear()
        self._passed_over = 0
        return [line for _, words in sorted(waiting, key=lambda one: one[0]) for line in words()]


def _lines(text: str, tone: Tone) -> list[Line]:
    return [Line(line, tone) for line in text.split("\n")]
