"""Ctrl+C as a person means it: one press, one interrupt."""

import signal
import time
from collections.abc import Callable
from types import FrameType

from git_blackbird.model.base.system import Debouncer


def debounce_sigint(now: Callable[[], float] = time.monotonic) -> None:
    """Let a Ctrl+C raise KeyboardInterrupt once, so that its echo does not strike what the first one began.

    Where Ctrl+C is ignored, as below ``nohup``, it stays so.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return
    presses = Debouncer(now)

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        if presses.is_new():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
