"""How the application ends.

However it ends, on request, on a signal, with its terminal or because of a bug, what runs is paused first:
no agent is left running, and every record says so.
"""

import asyncio
import signal
import time
from contextlib import suppress
from typing import Any

from rich.console import RenderableType
from textual.worker import WorkerFailed

from git_blackbird.controller.change.commit.approval import COMMITTING
from git_blackbird.controller.core.environment import Environment
from git_blackbird.controller.queries.watcher import WorktreeWatcher
from git_blackbird.errors import BlackbirdError, ExitCode, UnusableError
from git_blackbird.model.base.system import Debouncer
from git_blackbird.model.run.states import RunType
from git_blackbird.tui.context import AppContext
from git_blackbird.tui.driver import ResilientDriver, is_terminal
from git_blackbird.tui.loop_thread import Runner

_EXIT_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHECK_SECONDS = 1.0


class GracefulShutdown(AppContext):
    """An application that pauses what its runner runs before it exits.

    ``fault`` is the error that ended the application; whoever started it reports it.
    """

    def __init__(self, environment: Environment, watcher: WorktreeWatcher) -> None:
        super().__init__(environment, watcher, ResilientDriver)
        self.fault: Exception | None = None
        self.runner = Runner(self)
        self._is_exiting = False
        self._left_at_work: list[str] = []
        self._has_terminal = is_terminal()
        self._debouncer = Debouncer(time.monotonic)

    @property
    def is_busy(self) -> bool:
        return self.runner.is_busy

    @property
    def paused_text(self) -> str:
        """The agents that quitting has paused, and how to resume them; "" if none was at work."""
        if self._left_at_work == [RunType.PLANNING.value]:
            return "planning was stopped; nothing was changed"
        names = ", ".join(self._left_at_work)
        return f"paused {names}; `git blackbird execute` goes on" if names else ""

    def run_with_priority(self) -> None:
        """Run on the terminal, with priority over the threads that work in the background."""
        with asyncio.Runner(loop_factory=self.ui_priority.new_ui_loop) as runner:
            runner.run(self.run_async())

    async def on_unmount(self) -> None:
        """Save the drafts, and pause what runs, also after an error that ended everything else at once."""
        self.drafts.save()
        await self.runner.finish()

    def on_load(self) -> None:
        """Install signal handlers before the terminal is changed."""
        for number in _EXIT_SIGNALS:
            # Only the main thread of a process can handle its signals.
            with suppress(ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(number, self._handle_signal)
        self.set_interval(_CHECK_SECONDS, self._check_terminal)

    def _handle_signal(self) -> None:
        """Exit; a signal that git forwards although the terminal sent it already counts once."""
        if self._debouncer.is_new():
            self.exit_gracefully(ExitCode.INTERRUPTED)

    def _check_terminal(self) -> None:
        """Exit when the terminal is gone, which need not cause a signal."""
        if self._has_terminal and not is_terminal() and not self._is_exiting:
            self.exit_gracefully(ExitCode.INTERRUPTED)

    def exit_gracefully(self, code: ExitCode = ExitCode.OK) -> None:
        """Exit once what runs is paused and recorded; the second call kills what runs."""
        if self._is_exiting:
            self.runner.interrupt()
        else:
            self._begin_exit(code)

    def exit_with_error(self, error: Exception) -> None:
        """Exit because of a bug; the first error is kept, as later ones may follow from it."""
        if self.fault is None:
            self.fault = error
        if not self._is_exiting:
            self._begin_exit(ExitCode.BUG)

    def _begin_exit(self, code: ExitCode) -> None:
        self._is_exiting = True
        self._left_at_work = [about for about, _ in self.main.live.at_work.runs] if self.is_busy else []
        self.run_worker(self._finish_and_exit(code))

    async def _finish_and_exit(self, code: ExitCode) -> None:
        await self.runner.finish()
        self.exit(return_code=int(code))

    async def run_async(self, *args: Any, **kwargs: Any) -> None:
        """Run, and pause what runs while there is still an event loop, even if the shutdown itself fails."""
        try:
            with COMMITTING.without_terminal():
                await super().run_async(*args, **kwargs)
        finally:
            await self.runner.finish()

    def panic(self, *renderables: RenderableType) -> None:
        """Exit because keys can no longer be read: Textual's driver calls this for nothing else."""
        del renderables
        self.exit_with_error(UnusableError("the terminal cannot be read any more"))

    def _handle_exception(self, error: Exception) -> None:
        """Show the BlackbirdError of a worker; any other exception is a bug and ends the application.

        Textual has no public way to do this: https://github.com/Textualize/textual/issues/2818
        """
        if not isinstance(error, WorkerFailed):
            self.exit_with_error(error)
        elif isinstance(error.error, BlackbirdError):
            self.show_error(error.error)
        elif self.is_running and isinstance(error.error, Exception):
            # After that, workers fail because the application has ended.
            self.exit_with_error(error.error)
