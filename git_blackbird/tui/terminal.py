"""The terminal itself, which may be stopped, be gone on with, or be gone at any moment."""

import os
import signal
import sys
from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from git_blackbird.tui.hearing import HearingApp

_SETTLE_SECONDS = 0.3


class LastingFile:
    """What is written to; when there is no terminal any more, nobody misses it.

    A driver whose writes fail would stop to take any, and all else would wait for it for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def fileno(self) -> int:
        """Give the number of the file."""
        return self._file.fileno()

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        """Send what can be sent."""
        with suppress(OSError):
            self._file.flush()


class LastingDriver(LinuxDriver):
    """Outlives its terminal. Stopped and continued, it begins anew, and once."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        # Whoever opened this knows that standard output is a terminal; standard error may be a file.
        self._file: Any = LastingFile(sys.__stdout__ or sys.stdout)
        self._is_stopping = False

    @property
    def is_gone(self) -> bool:
        """Whether what was a terminal at the start is none any more."""
        return self.input_tty and not os.isatty(self.fileno)

    @property
    def can_suspend(self) -> bool:
        """Whether there is a shell that would let this go on: a session's first program has none."""
        return os.getpgrp() != os.getsid(0)

    def _get_terminal_size(self) -> tuple[int, int]:
        # What a shell exported was true then; the terminal may have another size by now.
        with suppress(OSError):
            columns, lines = os.get_terminal_size(self._file.fileno())
            if columns and lines:
                return columns, lines
        return super()._get_terminal_size()

    def _sigtstp_application(self, *_: object) -> None:
        # Between two steps of the loop: a signal may come while the screen is being written.
        if self.can_suspend and not self._is_stopping:
            self._is_stopping = True
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        """Let the terminal go, and stop with all that was started as one.

        A shell waits for the first of them: for git, where this was called as ``git blackbird``.
        """
        self.suspend_application_mode()
        self._must_signal_resume = True
        os.killpg(os.getpgrp(), signal.SIGSTOP)

    def _sigcont_application(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """Take the terminal again; who hangs up sends this signal as well."""
        # A second ctrl+z that was typed with the first one is none of those that follow.
        self._loop.call_later(_SETTLE_SECONDS, self._may_stop)
        if self.is_gone:
            return
        if not self._must_signal_resume:
            # Stopped without a warning: what another program made of the terminal is not known.
            self.suspend_application_mode()
        self.resume_application_mode()
        if isinstance(self._app, HearingApp):
            # What was typed at the shell until now is not meant for what is shown again.
            self._app.call_later(self._app.ignore_strays)
        # What the shell has written meanwhile is all over it.
        self._app.call_later(self._app.refresh, layout=True)

    def _may_stop(self) -> None:
        self._is_stopping = False
