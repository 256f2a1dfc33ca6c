"""Whose turn it is: threads of one interpreter slow one another down, and a key is answered first."""

import threading
import time

_LONGEST_SECONDS = 0.006
_WORK_SECONDS = 0.001
_PAUSE_SECONDS = 0.0002


class Turns:
    """Work in another thread, which has time, asks now and then to wait for its turn."""

    def __init__(self) -> None:
        self._is_free = threading.Event()
        self._is_free.set()
        self._here = threading.local()

    def take(self) -> None:
        """A key has come."""
        self._is_free.clear()

    def give_back(self) -> None:
        """What the key did is painted."""
        self._is_free.set()

    def wait(self) -> None:
        """Let a key be answered; one that takes long is not waited for again."""
        if not self._is_free.is_set() and not self._is_free.wait(_LONGEST_SECONDS):
            self._is_free.set()
        # Who reads file after file lets go of the interpreter so often, and so shortly, that nobody else
        # would ever get hold of it.
        if time.monotonic() - getattr(self._here, "paused", 0.0) > _WORK_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            self._here.paused = time.monotonic()
