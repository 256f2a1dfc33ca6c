"""Whose turn it is: threads of one interpreter slow one another down, and a key is answered first."""

import threading

_LONGEST_SECONDS = 0.008


class Turns:
    """Work in another thread, which has time, asks now and then to wait while a key is being answered."""

    def __init__(self) -> None:
        self._is_free = threading.Event()
        self._is_free.set()

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
