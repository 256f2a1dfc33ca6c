"""How the application ends: as it was asked to, by a signal, with its terminal, or by a bug."""

import asyncio
import signal
import time
from contextlib import suppress
from typing import Any

from rich.console import RenderableType
from textual.app import App
from textual.worker import WorkerFailed

from git_blackbird.controller.committing import commits_without_terminal
from git_blackbird.errors import BlackbirdError, ExitCode, UnusableError
from git_blackbird.model.presses import PressCounter
from git_blackbird.tui.running import Runner
from git_blackbird.tui.terminal import LastingDriver

_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_SECONDS = 1.0


class EndingApp(App[None]):
    """However it ends, what runs is paused first: no agent is left behind without a record that says so.

    ``fault`` is what ended it that should not have; who opened the application tells of it.
    """

    runner: Runner

    def __init__(self) -> None:
        super().__init__(driver_class=LastingDriver)
        self.fault: Exception | None = None
        self._is_leaving = False
        self._presses = PressCounter(time.monotonic)

    def complain(self, error: BlackbirdError) -> None:
        """Say why something could not be done."""
        raise NotImplementedError

    def on_load(self) -> None:
        """Take the signals before the terminal is taken."""
        for number in _LEAVING:
            # Only the main thread of a process may take its signals.
            with suppress(ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self._take_signal)
        self.set_interval(_LOOK_SECONDS, self._look_for_terminal)

    def _take_signal(self) -> None:
        """Leave; called as ``git blackbird``, git passes on what has come from the terminal already."""
        if self._presses.is_new():
            self.leave(ExitCode.INTERRUPTED)

    def _look_for_terminal(self) -> None:
        """A terminal that is gone need not have said so."""
        if isinstance(self._driver, LastingDriver) and self._driver.is_gone and not self._is_leaving:
            self.leave(ExitCode.INTERRUPTED)

    def leave(self, code: ExitCode = ExitCode.OK) -> None:
        """Leave once what runs is paused and its record says so; asked again, what runs is killed."""
        if self._is_leaving:
            self.runner.interrupt()
        else:
            self._begin_leaving(code)

    def fail(self, error: Exception) -> None:
        """Leave because of a fault; the first one is remembered, others may follow from it."""
        if self.fault is None:
            self.fault = error
        if not self._is_leaving:
            self._begin_leaving(ExitCode.BUG)

    def _begin_leaving(self, code: ExitCode) -> None:
        self._is_leaving = True
        self.run_worker(self._leave(code))

    async def _leave(self, code: ExitCode) -> None:
        await self.runner.finish()
        self.exit(return_code=int(code))

    async def on_unmount(self) -> None:
        """Pause what runs also where a fault ended all else at once."""
        await self.runner.finish()

    async def run_async(self, *args: Any, **kwargs: Any) -> None:
        """Run; whatever fails in the end itself, what runs is paused while there is a loop to do it."""
        try:
            with commits_without_terminal():
                await super().run_async(*args, **kwargs)
        finally:
            await self.runner.finish()

    def panic(self, *renderables: RenderableType) -> None:
        """End because no key can be read any more, which is what the terminal's driver calls this for."""
        del renderables
        self.fail(UnusableError("the terminal cannot be read any more"))

    def _handle_exception(self, error: Exception) -> None:
        """Take what nobody else took: a worker's refusal is said, everything else is a bug and ends this."""
        if not isinstance(error, WorkerFailed):
            self.fail(error)
        elif isinstance(error.error, BlackbirdError):
            self.complain(error.error)
        elif self.is_running and isinstance(error.error, Exception):
            # Later than that, it is the end that strikes those who still work.
            self.fail(error.error)
