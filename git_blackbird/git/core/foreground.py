"""Track the user's hooks and signing programs that run now, and whether they may use the terminal."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping

_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02


class ForegroundProcesses:
    """Processes running in sessions of their own, which no key of the terminal reaches."""

    def __init__(self) -> None:
        self.has_terminal = True
        self._signals: dict[int, int] = {}

    @property
    def is_apart(self) -> bool:
        """Whether any process runs in its own session."""
        return bool(self._signals)

    @contextlib.contextmanager
    def without_terminal(self) -> Iterator[None]:
        """Keep processes started in the block off the terminal, because the screen uses it.

        Two programs cannot share a keyboard: a program that asks there gets an error.
        """
        self.has_terminal = False
        try:
            yield
        finally:
            self.has_terminal = True

    @contextlib.contextmanager
    def noted(self, session: int) -> Iterator[None]:
        """Track a session for the duration of the block; its leader is reaped only afterwards."""
        self._signals[session] = 0
        try:
            yield
        finally:
            if self._signals.pop(session):
                _end_rest(session)

    def interrupt(self) -> None:
        """Send every session SIGINT, and a stronger signal the second time."""
        for session, times in tuple(self._signals.items()):
            self._signals[session] = times + 1
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGTERM if times else signal.SIGINT)

    def was_interrupted(self, session: int) -> bool:
        """Whether a session was interrupted."""
        return self._signals.get(session, 0) > 0

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a new process; without a terminal, signing has none either."""
        return {name: value for name, value in environ.items() if self.has_terminal or name != "GPG_TTY"}


def _end_rest(session: int) -> None:
    """Kill the processes of interrupted sessions that ignored the signal."""
    deadline = time.monotonic() + _GRACE_SECONDS
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGTERM)
        # Only children are reported; the rest of a session is no child of this process.
        while time.monotonic() < deadline:
            os.killpg(session, 0)
            time.sleep(_POLL_SECONDS)
        os.killpg(session, signal.SIGKILL)


ALONG = ForegroundProcesses()
"""The processes of this program, which has one terminal."""
