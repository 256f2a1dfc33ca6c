"""Giving the terminal to a pager inside an event loop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LATER = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_to_pager() -> Iterator[None]:
    """Leave Ctrl+C to the pager, and what would end this program until the pager is done.

    For the thread of the event loop, which does not run meanwhile: its signals come through a descriptor
    that it would read afterwards, as if they had been meant for it.
    """
    missed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        del frame
        if number != signal.SIGINT:
            missed.append(number)

    descriptor = signal.set_wakeup_fd(-1)
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, *_LATER)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(descriptor)
        for one in missed:
            signal.raise_signal(one)
