"""Running agents from inside: one loop of the controller at a time, under its lock."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from git_blackbird.controller.committing import interrupt_commit
from git_blackbird.controller.workspace import Workspace, open_workspace
from git_blackbird.errors import BlackbirdError
from git_blackbird.model.settings import Given, Layer
from git_blackbird.model.stop import Stop

if TYPE_CHECKING:
    # They load all that runs agents, which the plan on the screen need not wait for.
    from git_blackbird.controller.face import Face
    from git_blackbird.controller.loop import Loop, Opening
    from git_blackbird.tui.app import BlackbirdApp

Prepare = Callable[[Workspace, "Face"], "tuple[Loop, Opening]"]


class Runner:
    """Holds the loop that runs, if one does; the lock is held for as long, and no longer.

    The loop has a thread of its own: what it reads and writes must not keep a key waiting.
    """

    def __init__(self, app: "BlackbirdApp", watched: Workspace) -> None:
        self._app = app
        self._watched = watched
        self._thread: _Thread | None = None
        self._is_busy = False
        self._ended = asyncio.Event()
        self._interrupts = 0
        self.agent: str | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or is about to."""
        return self._is_busy

    @property
    def is_pausing(self) -> bool:
        """Whether what runs was told to pause."""
        return self._is_busy and self._interrupts > 0

    def open_workspace(self) -> Workspace:
        """Open the worktree with what was chosen here; what is read of plan and records is shared."""
        chosen = [] if self.agent is None else [Given("agent", self.agent, Layer.FLAG, "chosen here")]
        return replace(open_workspace(self._app.world, chosen), store=self._watched.store)

    def start(self, command: str, prepare: Prepare) -> None:
        """Begin; what is in the way is said."""
        if self._is_busy:
            return
        self._is_busy, self._interrupts = True, 0
        self._ended.clear()
        self._app.run_worker(self._outlast(self._run(command, prepare)), group="loop")

    def interrupt(self) -> None:
        """Pause what runs; asked a second time, kill it."""
        self._interrupts += 1
        interrupt_commit()
        if self._thread is not None:
            self._thread.interrupt(self._interrupts)

    async def end(self) -> None:
        """Wait until nothing runs any more."""
        if self._is_busy:
            await self._ended.wait()

    async def finish(self) -> None:
        """Pause what runs, and wait until its record says so; end a commit that is being made."""
        if not self._is_busy:
            interrupt_commit()
        elif not self._interrupts:
            self.interrupt()
        await self.end()

    async def _outlast(self, run: Coroutine[None, None, None]) -> None:
        """Let a run have its own end: that of the application cancels all workers, and waits for none."""
        await asyncio.shield(asyncio.ensure_future(run))

    async def _run(self, command: str, prepare: Prepare) -> None:
        try:
            home = asyncio.get_running_loop()
            stop = await asyncio.to_thread(self._perform, command, prepare, home)
        except BlackbirdError as error:
            self._app.complain(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the application ends with it
            self._app.fail(error)
        else:
            self._app.show_stop(stop)
        finally:
            self._thread, self._is_busy = None, False
            self._ended.set()
            self._app.rest()

    def _perform(self, command: str, prepare: Prepare, home: asyncio.AbstractEventLoop) -> Stop:
        from git_blackbird.controller.holding import hold_controller  # noqa: PLC0415  # as above
        from git_blackbird.tui.face import FaceAtHome, TuiFace  # noqa: PLC0415  # as above

        workspace = self.open_workspace()
        loop, opening = prepare(workspace, FaceAtHome(TuiFace(self._app, workspace), home))
        with hold_controller(workspace, command):
            return asyncio.run(self._watch_over(loop, opening))

    async def _watch_over(self, loop: "Loop", opening: "Opening") -> Stop:
        self._thread = _Thread(loop, asyncio.get_running_loop())
        self._thread.interrupt(self._interrupts)
        return await loop.run(opening)


class _Thread:
    """A loop of the controller in the thread it runs in."""

    def __init__(self, loop: "Loop", home: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._home = home
        self._interrupts = 0

    def interrupt(self, times: int) -> None:
        """See to it that it was interrupted so often; from any thread."""
        with suppress(RuntimeError):  # it has ended just now
            self._home.call_soon_threadsafe(self._interrupt, times)

    def _interrupt(self, times: int) -> None:
        for _ in range(self._interrupts, times):
            self._interrupts += 1
            self._loop.interrupt()
