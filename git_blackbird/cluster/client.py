"""The workers of one call: a way to start agents on other machines."""

import asyncio
import contextlib
import urllib.request
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from git_blackbird.agents.protocol import Agent, Assignment
from git_blackbird.cluster.connection import Connection, local_workers
from git_blackbird.cluster.extra import (
    LOCAL,
    require_extra,
    require_host,
    require_tls_files,
    scheduler_command,
)
from git_blackbird.cluster.follow import RemoteRun
from git_blackbird.controller.core.ui import UserInterface, inform
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.errors import AgentUnavailableError, UnusableError
from git_blackbird.git.worktree.remote_refs import remote_url
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand, restart_command
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.config.config import with_value
from git_blackbird.model.config.layers import Layer
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason

if TYPE_CHECKING:
    from distributed import Client

T = TypeVar("T")
_CONNECT_SECONDS = 30.0
# Work that takes longer is named.
_QUIET_SECONDS = 2.0
_DASHBOARD_SECONDS = 2.0
_DASHBOARD_BYTES = 1000
_MOST_LOCAL = 64


class Cluster:
    """The workers behind one scheduler, while a call uses them."""

    is_here = False

    def __init__(
        self, workspace: Workspace, ui: UserInterface, *, patience: float = _CONNECT_SECONDS
    ) -> None:
        self._workspace = workspace
        self.ui = ui
        self._patience = patience
        self._stack = contextlib.AsyncExitStack()
        self._connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        """The connection, within the block."""
        assert self._connection is not None  # noqa: S101  # entered
        return self._connection

    @property
    def workspace(self) -> Workspace:
        """The workspace with as many jobs as there are slots, unless somebody chose how many."""
        settings = self._workspace.settings
        if settings.applied["execution.jobs"].layer is not Layer.DEFAULT:
            return self._workspace
        slots = sum(worker.slots for worker in self.connection.workers)
        config = with_value(settings.config, ("execution", "jobs"), max(1, slots))
        return replace(self._workspace, settings=settings._replace(config=config))

    async def __aenter__(self) -> Self:
        require_extra()
        address = self._workspace.config.cluster.address or ""
        try:
            self._connection = await self._connect(address)
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            await self._stack.aclose()
            text = f"the cluster at {address} cannot be used: {_reason_of(error)}"
            hint = scheduler_command(address) if isinstance(error, _NoSchedulerError) else None
            if isinstance(error, _NoWorkerError) and not address.startswith(LOCAL):
                hint = f"git blackbird worker {shell_word(address)}    # starts a worker"
            raise UnusableError(text, hint=hint) from error
        except BaseException:
            await self._stack.aclose()
            raise
        return self

    async def _connect(self, address: str) -> Connection:
        from distributed import Client  # an extra, and slow to load

        repo, config, count = self._workspace.repo, self._workspace.config.cluster, 1
        is_remote = not address.startswith(LOCAL)
        if not is_remote:
            count, remote = _count(address), str(repo.common_dir)
            address = await self._stack.enter_async_context(local_workers(self._workspace, count))
        else:
            remote = remote_url(repo, config.remote or "origin")
            require_tls_files(address, "client")
            await require_host(address)
        client = Client(address, asynchronous=True, set_as_default=False, timeout=self._patience)
        self._stack.push_async_callback(_leave, client)
        opening = _scheduler_of(client)
        await self._report_if_slow(f"connecting to {address}; waiting for its scheduler", opening)
        workers = _workers_of(client, count, self._patience)
        await self._report_if_slow(f"connected to {address}; waiting for a worker", workers)
        dashboard = await asyncio.to_thread(_dashboard_of, client) if is_remote else None
        connection = Connection(client, remote, dashboard=dashboard)
        await connection.fetch_workers()
        return connection

    async def _report_if_slow(self, text: str, work: Coroutine[Any, Any, T]) -> T:
        """Await work, and report ``text`` if it takes long."""
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=_QUIET_SECONDS)
            if not task.done():
                inform(self.ui, text)
            return await task
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def version_of(self, agent: Agent) -> str:
        """Return the version of an agent on a worker. Raises AgentUnavailableError where none has it."""
        for worker in self.connection.workers:
            if agent.name in worker.agents:
                return worker.agents[agent.name]
        names = ", ".join(f"{worker.name}: {', '.join(worker.agents)}" for worker in self.connection.workers)
        raise AgentUnavailableError(f"no worker has the agent {agent.name} ({names})")

    def is_machine_lost(self, run: Run) -> bool:
        """Whether the worker of a run was lost and has not reconnected."""
        is_there = run.worker in {worker.name for worker in self.connection.workers}
        return run.terminal_reason is TerminalReason.WORKER_LOST and not is_there

    def _is_at_work(self, run: Run) -> bool:
        """Whether a worker has a run that was cut off here; of one whose end came home its report may lag."""
        return run.status is RunStatus.PAUSED and run.id in self.connection.runs

    def start(
        self,
        agent: Agent,
        place: Opened,
        run: Run,
        assignment: Assignment,
        scratch: Path,  # noqa: ARG002  # the worker has one of its own
    ) -> "RemoteRun":
        """Return a run for a worker. Raises AgentUnavailableError if the worker of its session is gone."""
        pinned = None
        if assignment.resume:
            history = self._workspace.store.records.history(run.task_id)
            resumed = history.find(run.resumes or run.id)
            pinned = None if resumed is None else resumed.worker
            if resumed is not None and self._is_at_work(resumed):
                raise AgentUnavailableError(
                    f"run {resumed.id} of {run.task_id} is still at work on worker {pinned}",
                    hint=EXECUTE,
                )
            names = {worker.name for worker in self.connection.workers}
            if resumed is not None and resumed.worker is not None and resumed.worker not in names:
                raise self._missing_worker_error(run.task_id, resumed)
        reader, limits = agent.parser(assignment, str(place.folder)), assignment.limits
        return RemoteRun(self.connection, self.ui, place.workspace, run, reader, limits, assignment, pinned)

    def _missing_worker_error(self, task_id: str, resumed: Run) -> AgentUnavailableError:
        """Return the error for a session on a missing worker, with both ways to go on."""
        options = self._workspace.call_options
        is_lost = resumed.terminal_reason is TerminalReason.WORKER_LOST
        where = f"worker {resumed.worker}, which {'was lost' if is_lost else 'is not connected'}"
        back = TaskCommand("resume", task_id, remark=f"once worker {resumed.worker} is back")
        steps = (back, restart_command(task_id).with_remark("a new session, on another worker"))
        ways = tuple(step.with_options(options).fixed() for step in steps)
        return AgentUnavailableError(f"the session of {task_id} is on {where}", hint=ways)


class _NoWorkerError(TimeoutError):
    """A scheduler answers, and no worker is connected to it."""


class _NoSchedulerError(TimeoutError):
    """No scheduler answers at an address."""


def _reason_of(error: BaseException) -> str:
    """Return the text of the root cause of an error."""
    # A try that its time ran out for was cancelled, which is no reason.
    while error.__cause__ is not None and not isinstance(error.__cause__, asyncio.CancelledError):
        error = error.__cause__
    nameless = "Timed out" if isinstance(error, TimeoutError) else type(error).__name__
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or nameless


def _dashboard_of(client: "Client") -> str | None:
    """Return the URL of the scheduler's dashboard; None if it has none."""
    try:
        address = str(client.dashboard_link)
        with urllib.request.urlopen(address, timeout=_DASHBOARD_SECONDS) as page:  # noqa: S310  # as Dask says it
            # Without bokeh a scheduler answers too, with how to install that.
            return address if b"<html" in page.read(_DASHBOARD_BYTES) else None
    except (KeyError, OSError, ValueError):
        return None


def _count(address: str) -> int:
    """Return how many workers ``local:N`` asks for. Raises UnusableError."""
    given = address.removeprefix(LOCAL)
    if not given.isdecimal() or not 0 < int(given) <= _MOST_LOCAL:
        raise UnusableError(f"{address}: local:N takes a number from 1 to {_MOST_LOCAL}")
    return int(given)


async def _scheduler_of(client: "Client") -> None:
    """Wait for the scheduler. Raises OSError."""
    try:
        # As it is written, a client waits by itself; here it is awaited.
        opening: Any = client
        await opening
    except OSError as error:
        # Dask tries again until its time is up, except where that is of no use.
        if isinstance(error, TimeoutError) or str(error).startswith("Timed out"):
            raise _NoSchedulerError(f"no scheduler answers: {_reason_of(error)}") from None
        raise


async def _workers_of(client: "Client", count: int, patience: float) -> None:
    """Wait for some workers. Raises TimeoutError."""
    try:
        # As it is written, it waits by itself; here it is a coroutine.
        waiting: Any = client.wait_for_workers
        await waiting(count, timeout=patience)
    except TimeoutError:
        raise _NoWorkerError("no worker is connected") from None


async def _leave(client: "Client") -> None:
    closing: Any = client.close
    await closing()
