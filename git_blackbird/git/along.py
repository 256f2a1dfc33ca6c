"""What runs along with this process: the user's hooks and signing, and whether the terminal is for them."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping

_GRACE_SECONDS = 1.0
_POLL_SECONDS = 0.02


class Along:
    """What runs now in sessions of its own, which no key of a terminal reaches."""

    def __init__(self) -> None:
        self.has_terminal = True
        self._told: dict[int, int] = {}

    @property
    def is_apart(self) -> bool:
        """Whether anything does."""
        return bool(self._told)

    @contextlib.contextmanager
    def without_terminal(self) -> Iterator[None]:
        """Keep the terminal from what is started in the block: a screen has it.

        Two cannot read one keyboard: who asks there for something is told that there is none.
        """
        self.has_terminal = False
        try:
            yield
        finally:
            self.has_terminal = True

    @contextlib.contextmanager
    def noted(self, session: int) -> Iterator[None]:
        """Know of a session for as long as the block lasts; its first process is not waited for before."""
        self._told[session] = 0
        try:
            yield
        finally:
            if self._told.pop(session):
                _end_rest(session)

    def interrupt(self) -> None:
        """Let all of it hear a Ctrl+C; asked again, what cannot be taken for a key."""
        for session, times in tuple(self._told.items()):
            self._told[session] = times + 1
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGTERM if times else signal.SIGINT)

    def is_told(self, session: int) -> bool:
        """Whether a session heard one."""
        return self._told.get(session, 0) > 0

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Give the environment of what is started: without a terminal there is none for signing either."""
        return {name: value for name, value in environ.items() if self.has_terminal or name != "GPG_TTY"}


def _end_rest(session: int) -> None:
    """End what did not hear: nothing goes on working that was said to be interrupted."""
    deadline = time.monotonic() + _GRACE_SECONDS
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGTERM)
        # Only children are told of; who is left of a session is a child of nobody here.
        while time.monotonic() < deadline:
            os.killpg(session, 0)
            time.sleep(_POLL_SECONDS)
        os.killpg(session, signal.SIGKILL)


ALONG = Along()
"""A process has one terminal."""
