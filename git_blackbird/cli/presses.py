"""Ctrl+C as a person means it: one press, one interrupt."""

import signal
import time
from collections.abc import Callable
from types import FrameType

_ONE_PRESS_SECONDS = 0.25


class PressCounter:
    """Tells a new press from one whose signal comes twice.

    Called as ``git blackbird``, a Ctrl+C comes from the terminal, and again passed on by git. The same
    goes for a terminal that is closed.
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


def interrupt_once_a_press(now: Callable[[], float] = time.monotonic) -> None:
    """Let a Ctrl+C raise KeyboardInterrupt once, so that its echo does not strike what the first one began.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    presses = PressCounter(now)

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        if presses.is_new():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
