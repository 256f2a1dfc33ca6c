"""Follow a run on a worker from its order to its result."""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from git_blackbird.agents.process.gate import Watcher, finish
from git_blackbird.agents.process.logs import open_log
from git_blackbird.agents.protocol import Assignment, Limits, OutputParser
from git_blackbird.cluster.connection import Connection
from git_blackbird.cluster.orders import HOME, FencedError, RunEnd, RunOrder, claim, owner, read_step
from git_blackbird.cluster.transfer import NotSentError, UnreadableEndError, fetch_end, send_base, submit
from git_blackbird.cluster.worker import stop_events, topic_of
from git_blackbird.controller.core.status_sync import note_process
from git_blackbird.controller.core.ui import UserInterface, inform, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.run_files import log_paths
from git_blackbird.errors import BlackbirdError
from git_blackbird.git.core.process import GitError
from git_blackbird.model.base.next_steps import restart_command
from git_blackbird.model.run.agent_io import AgentFailure
from git_blackbird.model.run.ended import Ended, ExitCause
from git_blackbird.model.run.parts import RemoteProcess
from git_blackbird.model.run.run import Run
from git_blackbird.model.views.events import RunPlaced

if TYPE_CHECKING:
    from distributed import Future

_POLL_SECONDS = 1.0
# A worker that lost its connection reconnects before that, unless its machine is gone.
_PATIENCE_SECONDS = 15.0


@dataclass
class RemoteRun:
    """A run on a worker, used in place of an agent's process on this machine.

    Without an ``assignment`` it was ordered by an earlier call. ``pinned`` is the worker with its session.
    """

    connection: Connection
    ui: UserInterface
    workspace: Workspace
    run: Run
    reader: OutputParser
    limits: Limits
    assignment: Assignment | None = None
    pinned: str | None = None
    worker: str | None = None
    has_ended: bool = False

    @property
    def process(self) -> RemoteProcess:
        return RemoteProcess(worker=self.worker)

    @property
    def pid(self) -> None:
        """None: its process is not on this machine."""
        return

    def open_gate(self) -> None:
        """Do nothing: ``follow`` orders the run."""

    def abandon(self) -> None:
        """Do nothing: no run has been ordered yet."""

    async def follow(self, watcher: Watcher) -> Ended:
        """Order the run and follow it to its end, as ``GatedProcess.follow`` does with an agent here."""
        follower = _Follower(self, watcher)
        return await finish(follower.run(), follower)


class _Follower:
    def __init__(self, remote: RemoteRun, watcher: Watcher) -> None:
        self._remote, self._watcher = remote, watcher
        self._connection, self._reader = remote.connection, remote.reader
        self._stopped_for: ExitCause | None = None
        self._wake = asyncio.Event()
        self._is_interrupted = False
        self._began = asyncio.get_running_loop().time()
        self._logs: dict[str, int] = {}
        self._future: Future[Any] | None = None
        self._order: RunOrder | None = None
        self._fault: str | None = None
        self._is_refused = False
        # Whether no worker may begin the run any more.
        self._is_given_up = False
        self._remote_fault: str | None = None
        self._unreadable: str | None = None
        self._missing_since: float | None = None
        self._stopping_since: float | None = None

    def interrupt(self, *, at_once: bool) -> None:
        self._is_interrupted = True
        if at_once:
            self._watcher.hurry.set()
        self._wake.set()

    @property
    def _seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._began

    async def run(self) -> Ended:
        remote, client = self._remote, self._connection.client
        run = remote.run
        topic = topic_of(run.id)
        paths = log_paths(self._remote.workspace.paths, run)
        for name, path in zip(("stdout", "stderr"), paths, strict=True):
            self._logs[name] = open_log(path)
        client.subscribe_topic(topic, self._take_message)
        try:
            if remote.worker is not None:
                self._show_worker(remote.worker)
            if remote.assignment is not None:
                address = self._connection.remote
                send = partial(send_base, remote.workspace, run, remote.assignment, address)
                self._order = await run_in_thread(send)
                self._submit(self._order)
            end = await self._end()
        except NotSentError as error:
            return _refused(error.message, error.hint, self._seconds)
        finally:
            client.unsubscribe_topic(topic)
            for descriptor in self._logs.values():
                os.close(descriptor)
        result = await self._result(end)
        is_stopped = result.cause is ExitCause.INTERRUPTED
        return result._replace(cause=self._stopped_for) if self._stopped_for and is_stopped else result

    def _submit(self, order: RunOrder) -> None:
        self._future = submit(self._connection.client, order, self._remote.pinned)

    async def _take_message(self, event: tuple[float, Mapping[str, Any]]) -> None:
        _, message = event
        kind, data = message["kind"], message["data"]
        if kind == "step":
            self._watcher.see_step(read_step(data))
        elif kind in self._logs:
            os.write(self._logs[kind], data)
            if kind == "stdout":
                self._reader.feed(data)
            if self._watcher.wants_output:
                self._watcher.see_output(data, kind, 0)
        elif kind == "started":
            self._remote.worker = data.decode()
            self._show_worker(self._remote.worker)
            process = self._remote.process
            workspace, run = self._remote.workspace, self._remote.run
            await asyncio.to_thread(lambda: note_process(workspace, run, process))
        elif kind == "note":
            self._inform(data.decode(errors="replace"))
        elif kind == "ended":
            self._wake.set()

    def _show_worker(self, worker: str) -> None:
        run = self._remote.run
        self._remote.ui.notify(RunPlaced(run.task_id, run.id, worker))

    def _inform(self, text: str) -> None:
        inform(self._remote.ui, text, self._remote.run.task_id)

    async def _end(self) -> RunEnd | None:
        """Wait until the run has ended; None if it was stopped before it began, or its worker is lost."""
        waiting = asyncio.ensure_future(self._await_dask_task())
        while True:
            wake = asyncio.ensure_future(self._wake.wait())
            tasks = {wake, waiting} if not waiting.done() else {wake}
            await asyncio.wait(tasks, timeout=_POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            wake.cancel()
            self._wake.clear()
            if (text := self._connection.status_change()) is not None:
                inform(self._remote.ui, text)
            cause = None if self._is_interrupted else self._watcher.why_stop(self._reader.step)
            if cause is not None:
                self._stopped_for, self._is_interrupted = cause, True
            if self._is_interrupted and await self._is_stopped():
                return None
            if not waiting.done():
                if await self._is_worker_unreachable():
                    return None
                continue
            end = await self._fetch_end()
            if end is not None or self._unreadable is not None:
                return end
            # While the remote is away, the owner of the run is unknown.
            if self._remote_fault is None and (
                (self._is_refused and await self._owner() is None) or await self._is_lost()
            ):
                if not await self._try_resubmit():
                    return None
                waiting = asyncio.ensure_future(self._await_dask_task())

    async def _await_dask_task(self) -> None:
        """Wait for the Dask task and ignore its result: the result of the run is on the remote."""
        if self._future is None:
            return
        try:
            await self._future
        except BlackbirdError as error:
            self._fault, self._is_refused = error.message, True
        except Exception as error:  # noqa: BLE001  # of Dask: a lost worker, a scheduler that was restarted
            self._fault = str(error).partition(".")[0]
        self._future.release()

    async def _try_resubmit(self) -> bool:
        """Submit a run again if no worker has begun it, as after a lost scheduler; return whether it was."""
        remote = self._remote
        if self._order is None or self._is_refused or await self._owner() is not None:
            return False
        if await self._is_worker_unreachable():
            return False
        run = remote.run
        self._inform(f"no worker has run {run.id} of {run.task_id}; it is submitted again")
        self._missing_since = None
        self._submit(self._order)
        return True

    async def _owner(self) -> str | None:
        """Return the worker that has begun the run, read from the remote if unknown; None while none has.

        Raises GitError.
        """
        remote = self._remote
        if remote.worker is None:
            workspace, address = remote.workspace, self._connection.remote
            has_it = await run_in_thread(lambda: owner(workspace, address, remote.run.id))
            self._is_given_up = has_it == HOME
            remote.worker = None if has_it == HOME else has_it
        return remote.worker

    async def _is_stopped(self) -> bool:
        """Stop the agent; return True once no agent can start any more, or after a time limit."""
        now = asyncio.get_running_loop().time()
        if self._stopping_since is None:
            self._stopping_since = now
            if await self._withdraw():
                return True
        from distributed import Event  # loaded by now

        stop, kill = stop_events(self._remote.run.id)
        for name in (stop, kill) if self._watcher.hurry.is_set() else (stop,):
            await Event(name, client=self._connection.client).set()
        return now - self._stopping_since > 2 * self._remote.limits.grace_seconds + _PATIENCE_SECONDS

    async def _withdraw(self) -> bool:
        """Claim the run, so that no worker starts its agent.

        Return False if one has started it, or if the remote is unreachable.
        """
        if self._is_given_up or self._remote.worker is not None:
            return self._is_given_up
        workspace, run_id = self._remote.workspace, self._remote.run.id
        with contextlib.suppress(FencedError, GitError):
            await run_in_thread(lambda: claim(workspace, self._connection.remote, run_id, HOME))
            self._is_given_up = True
            if self._future is not None:
                await self._future.cancel()
        return self._is_given_up

    async def _fetch_end(self) -> RunEnd | None:
        workspace, run = self._remote.workspace, self._remote.run
        try:
            end = await run_in_thread(lambda: fetch_end(workspace, run, self._connection.remote))
        except UnreadableEndError as error:
            self._unreadable = error.message
            return None
        except GitError as error:
            # Git may have met a worktree that is just being made: once is no fault of the remote.
            if self._remote_fault is not None and error.message != self._remote_fault:
                self._inform(f"the remote does not answer: {error.message}")
            self._remote_fault = error.message if self._remote_fault is not None else ""
            return None
        self._remote_fault = None
        return end

    async def _is_worker_unreachable(self) -> bool:
        """Whether the run is pinned to a worker that is not connected and has not begun it."""
        remote = self._remote
        if remote.pinned is None or remote.worker is not None or not await self._is_lost():
            return False
        if remote.pinned in self._connection.present:
            return False
        self._fault = f"worker {remote.pinned}, which has its session, is not connected"
        return True

    async def _is_lost(self) -> bool:
        """Whether no connected worker has had the run for a while."""
        try:
            workers = await self._connection.fetch_workers()
        except (OSError, TimeoutError):
            self._missing_since = None
            return False
        if any(self._remote.run.id in worker.runs for worker in workers):
            self._missing_since = None
            return False
        now = asyncio.get_running_loop().time()
        if self._missing_since is None:
            self._missing_since = now
        return now - self._missing_since > _PATIENCE_SECONDS

    async def _result(self, end: RunEnd | None) -> Ended:
        remote, run = self._remote, self._remote.run
        if end is not None:
            remote.has_ended, remote.worker = True, end.worker
            remote.worker = end.worker
            return await self._result_of(end)
        if self._unreadable is not None:
            text = f"{run.task_id}: the end of run {run.id} cannot be read: {self._unreadable}; it is paused"
            warn(remote.ui, text, run.task_id, restart_command(run.task_id))
            return self._cut_off(ExitCause.WORKER_LOST, self._reader.finish(None, ""))
        is_open = not self._is_interrupted and await self._owner() is None
        if self._is_given_up or (is_open and await self._withdraw()):
            why = "no worker has it" if self._fault is None else f"no worker has it: {self._fault}"
            if self._is_interrupted:
                return self._cut_off(ExitCause.NOT_STARTED, Ended(error=why))
            hint = None if remote.pinned is None else restart_command(run.task_id)
            return _refused(why, hint, self._seconds)
        if self._is_interrupted:
            return self._cut_off(ExitCause.INTERRUPTED, Ended())
        gone = "no worker has it" if remote.worker is None else f"worker {remote.worker} is gone"
        warn(remote.ui, f"{run.task_id}: {gone}; run {run.id} is paused", run.task_id)
        return self._cut_off(ExitCause.WORKER_LOST, self._reader.finish(None, ""))

    def _cut_off(self, cause: ExitCause, read: Ended) -> Ended:
        return read._replace(cause=cause, duration_seconds=self._seconds)

    async def _result_of(self, end: RunEnd) -> Ended:
        """Return the result of an end, whose worker may have been stopped by another call."""
        remote, run = self._remote, self._remote.run
        ui = remote.ui
        for note in end.notes:
            warn(ui, note, run.task_id)
        if end.ended is None and not end.is_set_up:
            log = remote.workspace.paths.setup_log(run.task_id)
            return self._cut_off(ExitCause.NOT_STARTED, Ended(error=end.fault, way_out=f"its output: {log}"))
        if end.ended is None:
            return _refused(end.fault or "", end.hint, self._seconds)
        if end.ended.cause is ExitCause.INTERRUPTED and not self._is_interrupted:
            warn(ui, f"{run.task_id}: worker {end.worker} was stopped; run {run.id} is paused", run.task_id)
            await self._connection.wait_for_disconnect(end.worker)
            return end.ended._replace(cause=ExitCause.WORKER_LOST)
        return end.ended


def _refused(why: str, hint: str | None, seconds: float) -> Ended:
    return Ended(error=why, refusal=AgentFailure.REFUSED, way_out=hint, duration_seconds=seconds)
