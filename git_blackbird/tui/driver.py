"""Textual's driver of the terminal, for one that may be suspended, resumed or closed at any moment."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from git_blackbird.tui.input_guard import InputGuard

_SETTLE_SECONDS = 0.3


class ResilientFile:
    """The output file; ignores that the terminal is gone.

    A failed write would end the driver's writer thread, and everything else would wait for it forever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()


def is_terminal() -> bool:
    """Whether standard input is a terminal that is still open."""
    return sys.__stdin__ is not None and os.isatty(sys.__stdin__.fileno())


class ResilientDriver(LinuxDriver):
    """Survives the loss of its terminal, and redraws once after it was stopped and continued."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._screen_app = app
        self._main_loop = asyncio.get_running_loop()
        # The caller has checked that standard output is a terminal; standard error may be a file. Textual
        # writes to the latter, and offers no choice: https://github.com/Textualize/textual/issues/5531
        self._file: Any = ResilientFile(sys.__stdout__ or sys.stdout)
        # A shell exported them once; the terminal may have been resized since.
        for name in ("COLUMNS", "LINES"):
            os.environ.pop(name, None)
        self._is_stopping = False
        self._has_released = False
        signal.signal(signal.SIGTSTP, self._handle_stop)
        signal.signal(signal.SIGCONT, self._handle_continue)

    @property
    def can_suspend(self) -> bool:
        """Whether a shell can resume this process; the session leader has none."""
        return os.getpgrp() != os.getsid(0)

    def _handle_stop(self, *_: object) -> None:
        # In the event loop: the signal may arrive while the screen is being written.
        if self.can_suspend and not self._is_stopping:
            self._is_stopping = True
            self._main_loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        """Release the terminal, and stop the whole process group.

        A shell waits for its leader, which is git if this was called as ``git blackbird``.
        """
        self.suspend_application_mode()
        self._has_released = True
        os.killpg(os.getpgrp(), signal.SIGSTOP)

    def _handle_continue(self, *_: object) -> None:
        self._main_loop.call_soon_threadsafe(self._resume)

    def _resume(self) -> None:
        """Take the terminal again, unless it is gone: SIGCONT is also sent with SIGHUP."""
        # A second ctrl+z typed along with the first one must not stop this again.
        self._main_loop.call_later(_SETTLE_SECONDS, self._allow_stop)
        if not is_terminal():
            return
        if not self._has_released:
            # Stopped by SIGSTOP: another program may have changed the terminal since.
            self.suspend_application_mode()
        self._has_released = False
        self.resume_application_mode()
        if isinstance(self._screen_app, InputGuard):
            # What was typed at the shell is not meant for this screen.
            self._screen_app.call_later(self._screen_app.ignore_pending_input)
        # The shell has written over it.
        self._screen_app.call_later(self._screen_app.refresh, layout=True)

    def _allow_stop(self) -> None:
        self._is_stopping = False
