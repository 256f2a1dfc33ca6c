"""Signals while another program has the terminal."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_LATER = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_to_program() -> Iterator[None]:
    """Leave Ctrl+C to a program with the terminal, and what would end this one until that is done.

    For the thread of the event loop, whose signals come through a descriptor: it would read them there as if
    they had been meant for it.
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
        for missed_number in missed:
            signal.raise_signal(missed_number)
