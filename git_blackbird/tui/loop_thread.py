"""The thread in which the controller's loop runs: one loop at a time, under the controller lock."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

from git_blackbird.cluster import join_cluster
from git_blackbird.controller.change.commit.approval import COMMITTING
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.views.stop import Stop
from git_blackbird.tui.context import AppContext, Prepare, RunsInThread


class Runner:
    """Runs a loop of the controller, and holds the controller lock exactly as long.

    The loop has a thread of its own: what it reads and writes must not delay a key. ``is_busy``: one runs, or
    is about to.
    """

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._thread: LoopThread | None = None
        self.is_busy = False
        self._ended = asyncio.Event()
        self._interrupts = 0

    @property
    def is_pausing(self) -> bool:
        return self.is_busy and self._interrupts > 0

    def start(self, command: str, prepare: Prepare) -> None:
        """Start the loop of a command, unless one runs; what prevents it is shown."""
        if self.is_busy:
            return
        self.is_busy, self._interrupts = True, 0
        self._ended.clear()
        self._app.run_worker(self._shield(self._run(command, prepare)), group="loop")

    def interrupt(self) -> None:
        """Pause what runs; the second call kills it."""
        self._interrupts += 1
        COMMITTING.interrupt()
        if self._thread is not None:
            self._thread.interrupt(self._interrupts)

    async def finish(self) -> None:
        """Pause what runs and wait until that is recorded; interrupt a commit that is being made."""
        if not self.is_busy:
            COMMITTING.interrupt()
            return
        if not self._interrupts:
            self.interrupt()
        await self._ended.wait()

    async def _shield(self, run: Coroutine[None, None, None]) -> None:
        """Let a loop end by itself: an application that exits cancels its workers and waits for none."""
        await asyncio.shield(asyncio.ensure_future(run))

    async def _run(self, command: str, prepare: Prepare) -> None:
        try:
            ui_loop = asyncio.get_running_loop()
            stop = await asyncio.to_thread(self._run_in_thread, command, prepare, ui_loop)
        except BlackbirdError as error:
            self._app.show_error(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the application ends with it
            self._app.exit_with_error(error)
        else:
            self._app.show_stop(stop)
        finally:
            self._thread, self.is_busy = None, False
            self._ended.set()
            self._app.when_idle()

    def _run_in_thread(self, command: str, prepare: Prepare, ui_loop: asyncio.AbstractEventLoop) -> Stop:
        from git_blackbird.controller.core.workspace import hold_controller
        from git_blackbird.tui.ui import ThreadsafeUI, TuiUI

        workspace = self._app.open_workspace()
        self._app.main.live.is_parallel = workspace.is_parallel
        loop = prepare(workspace, ThreadsafeUI(TuiUI(self._app, workspace), ui_loop))
        with hold_controller(workspace, command, **loop.scope.told):
            return asyncio.run(self._run_loop(loop))

    async def _run_loop(self, loop: RunsInThread) -> Stop:
        self._thread = LoopThread(loop, asyncio.get_running_loop())
        self._thread.interrupt(self._interrupts)
        return await loop.run(join_cluster)


class LoopThread:
    """A loop of the controller, and the event loop of the thread it runs in."""

    def __init__(self, loop: RunsInThread, event_loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event_loop = event_loop
        self._interrupts = 0

    def interrupt(self, count: int) -> None:
        """Interrupt the loop until it was interrupted ``count`` times; may be called from any thread."""
        with suppress(RuntimeError):  # it has just ended
            self._event_loop.call_soon_threadsafe(self._interrupt, count)

    def _interrupt(self, count: int) -> None:
        for _ in range(self._interrupts, count):
            self._interrupts += 1
            self._loop.interrupt()
