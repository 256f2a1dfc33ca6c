"""Running agents from inside: one loop of the controller at a time, under its lock."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

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
    """Holds the loop that runs, if one does; the lock is held for as long, and no longer."""

    def __init__(self, app: "BlackbirdApp") -> None:
        self._app = app
        self._loop: Loop | None = None
        self._is_busy = False
        self._ended = asyncio.Event()
        self._was_interrupted = False
        self.agent: str | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or is about to."""
        return self._is_busy

    @property
    def is_pausing(self) -> bool:
        """Whether what runs was told to pause."""
        return self._is_busy and self._was_interrupted

    def open_workspace(self) -> Workspace:
        """Open the worktree with what was chosen here."""
        chosen = [] if self.agent is None else [Given("agent", self.agent, Layer.FLAG, "chosen here")]
        return open_workspace(self._app.world, chosen)

    def start(self, command: str, prepare: Prepare) -> None:
        """Begin; what is in the way is said."""
        if self._is_busy:
            return
        self._is_busy, self._was_interrupted = True, False
        self._ended.clear()
        self._app.run_worker(self._outlast(self._run(command, prepare)), group="loop")

    def interrupt(self) -> None:
        """Pause what runs; asked a second time, kill it."""
        self._was_interrupted = True
        if self._loop is not None:
            self._loop.interrupt()

    async def end(self) -> None:
        """Wait until nothing runs any more."""
        if self._is_busy:
            await self._ended.wait()

    async def finish(self) -> None:
        """Pause what runs, and wait until its record says so."""
        if self._is_busy and not self._was_interrupted:
            self.interrupt()
        await self.end()

    async def _outlast(self, run: Coroutine[None, None, None]) -> None:
        """Let a run have its own end: that of the application cancels all workers, and waits for none."""
        await asyncio.shield(asyncio.ensure_future(run))

    async def _run(self, command: str, prepare: Prepare) -> None:
        try:
            stop = await self._perform(command, prepare)
        except BlackbirdError as error:
            self._app.complain(error)
        except Exception as error:  # noqa: BLE001  # whatever it is, the application ends with it
            self._app.fail(error)
        else:
            self._app.show_stop(stop)
        finally:
            self._loop, self._is_busy = None, False
            self._ended.set()
            self._app.rest()

    async def _perform(self, command: str, prepare: Prepare) -> Stop:
        from git_blackbird.controller.holding import hold_controller  # noqa: PLC0415  # as above
        from git_blackbird.tui.face import TuiFace  # noqa: PLC0415  # as above

        workspace = await asyncio.to_thread(self.open_workspace)
        loop, opening = prepare(workspace, TuiFace(self._app, workspace))
        with hold_controller(workspace, command):
            self._loop = loop
            if self._was_interrupted:
                loop.interrupt()
            return await loop.run(opening)
