"""Debounce signals that arrive twice for one key press."""

from collections.abc import Callable

_ONE_PRESS_SECONDS = 0.25


class Debouncer:
    """Distinguish a new key press from a repeated signal of the last one.

    Under ``git blackbird``, Ctrl+C arrives from the terminal, and again forwarded by git. The same goes for
    closing the terminal. ``now`` returns monotonic seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last = float("-inf")

    def is_new(self) -> bool:
        """Register one signal; return False if it repeats the last."""
        now = self._now()
        if now - self._last < _ONE_PRESS_SECONDS:
            return False
        self._last = now
        return True
