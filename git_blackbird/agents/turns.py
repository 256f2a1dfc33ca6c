"""The turns of one process: the turn that answers us, and later ones that its own work began.

A process gets one message of ours. A command or a subagent in the background that ends, or a notification,
lets the model speak again, and this supersedes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

R = TypeVar("R")
_MAX_TURNS = 20


@dataclass(frozen=True)
class Turn(Generic[R]):
    """A turn that ended with ``result``; ``is_woken`` is None if the program does not say what began it.

    ``is_finished``: its end is one that is known to mean that.
    """

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
        """Add a turn that has ended."""
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
        """The turns that work in the background began, in order."""
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
        """The text that answers us, and those of the woken turns."""
        answer = self.answer
        woken = (turn.text for turn in self.woken)
        return answer.text if answer else "", tuple(text for text in woken if text.strip())

    @property
    def failed_later(self) -> bool:
        """Whether a woken turn did not finish, but the one that answers us did."""
        answer = self.answer
        return answer is not None and answer.is_finished and not all(turn.is_finished for turn in self.woken)

    def _is_woken(self, turn: Turn[R]) -> bool:
        return turn.is_woken is True if self._says_origin else turn is not self._turns[0]
