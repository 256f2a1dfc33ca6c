"""A key press as a person means it, however often its signal comes."""

from collections.abc import Callable

_ONE_PRESS_SECONDS = 0.25


class PressCounter:
    """Tells a new press from one whose signal comes twice.

    Called as ``git blackbird``, a Ctrl+C comes from the terminal, and again passed on by git. The same
    goes for a terminal that is closed. ``now`` gives seconds that only grow.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last = float("-inf")

    def is_new(self) -> bool:
        """Take one signal; False for one that comes with the last."""
        now = self._now()
        if now - self._last < _ONE_PRESS_SECONDS:
            return False
        self._last = now
        return True
