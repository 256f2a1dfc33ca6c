"""A worker: a process that makes runs for calls on other machines, one agent in each slot."""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from git_blackbird.agents.process.reaper import Reaper
from git_blackbird.agents.protocol import ProbeResult
from git_blackbird.agents.registry import DECLARATIONS, load_agent
from git_blackbird.cluster.extra import require_host, require_tls_files
from git_blackbird.cluster.orders import read_order
from git_blackbird.cluster.remote_run import RunPlace, RunState, make_run, send_unsent_runs
from git_blackbird.controller.core.environment import Environment
from git_blackbird.errors import LockedError, RequestError, UnusableError
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.config.config import Config
from git_blackbird.storage.locks import controller_lock
from git_blackbird.storage.paths import Paths

if TYPE_CHECKING:
    from distributed import Client, Worker

AGENT = "agent"
# In the environment of a worker that ends with the call that started it, whose pipe is its standard input.
WITH_PARENT = "BLACKBIRD_WORKER_OF_CALL"
_RETRY_SECONDS = 2.0
# The error of Dask's scheduler while it believes that a worker of this name is connected.
_TAKEN = "name taken"
_STOPPING_SECONDS = 60.0
_LEAVING_SECONDS = 10.0
# A worker that was asked to end has ended by then.
ENDING_SECONDS = _STOPPING_SECONDS + 2 * _LEAVING_SECONDS
_POLL_SECONDS = 0.2
_ASKED_SECONDS = 1.0


def resource_of(agent: str) -> str:
    """Return the name of the resource that a worker has for an agent that can start there."""
    return f"{AGENT}-{agent}"


def topic_of(run_id: str) -> str:
    """Return the topic on which a worker reports the progress of a run."""
    return f"blackbird-{run_id}"


def stop_events(run_id: str) -> tuple[str, str]:
    """Return the names of the events that ask a worker to stop a run's agent, and to kill it."""
    return f"blackbird-stop-{run_id}", f"blackbird-kill-{run_id}"


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker is started; ``slots`` is how many agents may work at once."""

    address: str
    name: str
    folder: Path
    slots: int


@dataclass
class Host:
    """The runs of this process; they go on while the scheduler is away."""

    options: WorkerOptions
    place: RunPlace
    versions: dict[str, str]
    say: Callable[[str], None]
    runs: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)
    states: dict[str, RunState] = field(default_factory=dict)
    begun_over: dict[str, "Worker | None"] = field(default_factory=dict)
    # A task's worktree here is for one run at a time: an earlier one may still be at work for another call.
    worktrees: dict[tuple[str, str], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    worker: "Worker | None" = None
    client: "Client | None" = None

    def resources(self) -> dict[str, float]:
        """Return the slots that Dask may assign; runs from an earlier connection keep theirs."""
        taken = sum(worker is not self.worker for worker in self.begun_over.values())
        names = (AGENT, *map(resource_of, self.versions))
        return dict.fromkeys(names, float(max(0, self.options.slots - taken)))

    def about(self) -> dict[str, Any]:
        return {"agents": self.versions, "runs": sorted(self.runs), "slots": self.options.slots}

    async def make(self, data: bytes) -> None:
        """Make a run, which goes on if its caller disconnects."""
        order = read_order(data)
        run_id = order.assignment.run_id
        if run_id not in self.runs:
            state = RunState(order, asyncio.Event(), lambda kind, data: self._publish(run_id, kind, data))
            self.states[run_id] = state
            self.runs[run_id] = asyncio.create_task(self._make(state))
        await asyncio.shield(self.runs[run_id])

    async def _make(self, state: RunState) -> None:
        watch = asyncio.create_task(self._watch(state))
        self.begun_over[state.id] = self.worker
        task_id = state.order.assignment.task_id
        try:
            async with self.worktrees[state.order.remote, task_id]:
                self.say(f"run {state.id} of {task_id} begins")
                await make_run(self.place, state)
        finally:
            watch.cancel()
            self.say(f"run {state.id} of {task_id} is over")
            del self.runs[state.id], self.states[state.id]
            if self.begun_over.pop(state.id) is not self.worker and self.worker is not None:
                await self.worker.set_resources(**self.resources())

    def _publish(self, run_id: str, kind: str, data: bytes) -> None:
        if kind == "note":
            self.say(f"run {run_id}: {data.decode(errors='replace')}")
        if self.worker is not None:
            # While the scheduler is away nobody listens; the end of the run has all output.
            with contextlib.suppress(Exception):
                self.worker.log_event(topic_of(run_id), {"kind": kind, "data": data})

    async def _watch(self, state: RunState) -> None:
        for name, act in zip(stop_events(state.id), (state.stop, state.kill), strict=True):
            while True:
                if await self._is_event_set(name):
                    break
                await asyncio.sleep(_POLL_SECONDS)
            act()

    async def _is_event_set(self, event: str) -> bool:
        from distributed import Event  # an extra, and slow to load

        # While the scheduler is away nobody can ask.
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            if self.client is not None:
                return bool(await Event(event, client=self.client).wait(timeout=_ASKED_SECONDS))
        return False


_host: Host | None = None


async def make_here(data: bytes) -> None:
    """Make a run on the worker that Dask chose; called by Dask."""
    if _host is None:
        raise RequestError(Sentence("this Dask worker was not started by ", TaskCommand("worker")))
    await _host.make(data)


async def serve(environment: Environment, options: WorkerOptions, say: Callable[[str], None]) -> None:
    """Work for a scheduler until cancelled; reconnect whenever it is away.

    Raises LockedError if another worker has the folder, UnusableError for a bad folder or address.
    """
    global _host  # noqa: PLW0603  # Dask calls a function, and this process is one worker
    try:
        options.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"cannot make the folder {options.folder}: {error.strerror}"
        raise UnusableError(text, hint="--dir chooses another") from error
    require_tls_files(options.address, "worker")
    with _only_worker(options.folder, environment.timestamp()):
        reaper = Reaper()
        place = RunPlace(environment, options.folder, options.name, {}, reaper)
        found = await asyncio.to_thread(lambda: dict(_agents(environment, place.clone("", ()).config)))
        for name, agent in found.items():
            say(_agent_text(name, agent))
        versions = {name: agent.version for name, agent in found.items() if agent.blocked_reason is None}
        for text in await asyncio.to_thread(lambda: list(send_unsent_runs(place))):
            say(text)
        _host = Host(options, place, versions, say)
        connection = asyncio.create_task(_stay_connected(_host))
        try:
            # Being cancelled does not reach the connection.
            await asyncio.wait({connection})
            connection.result()
        finally:
            await _shut_down(_host, connection)
            reaper.close()


@contextlib.contextmanager
def _only_worker(folder: Path, since: str) -> Iterator[None]:
    """Lock a folder against other workers. Raises LockedError."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(controller_lock(Paths(folder, folder), "worker", since))
        except LockedError as error:
            hint = "give each worker a folder of its own: --dir FOLDER"
            raise LockedError(f"{folder} is in use: {error.message}", hint=hint) from None
        yield


async def _shut_down(host: Host, connection: "asyncio.Task[None]") -> None:
    """Stop the agents and disconnect; ends that could not be sent are sent by the next worker."""
    connection.cancel()
    for state in host.states.values():
        state.stop()
    if host.runs:
        host.say("stopping the agents at work")
        await asyncio.wait(list(host.runs.values()), timeout=_STOPPING_SECONDS)
    await asyncio.wait({connection}, timeout=_LEAVING_SECONDS)


def _agents(environment: Environment, config: Config) -> Iterator[tuple[str, ProbeResult]]:
    for name, declared in DECLARATIONS.items():
        if declared.on_workers is None:
            yield name, load_agent(name, config).inspect(environment.environ)
        else:
            yield name, ProbeResult(remarks=(declared.on_workers,))


def _agent_text(name: str, agent: ProbeResult) -> str:
    """Describe the version and login of an agent, or why it cannot start.

    Its rights come with the settings of each order.
    """
    facts = (agent.login, *agent.remarks) if agent.blocked_reason is None else (agent.blocked_reason,)
    return f"{' '.join(filter(None, (name, agent.version)))}: {'; '.join(filter(None, facts)) or 'can start'}"


async def _stay_connected(host: Host) -> None:
    from distributed import Client, Worker  # an extra, and slow to load

    options, said, was_connected = host.options, "", False
    host.say(f"connecting to {options.address}")
    while True:
        try:
            await require_host(options.address)
            async with (
                Worker(
                    options.address,
                    nthreads=options.slots,
                    name=options.name,
                    resources=host.resources(),
                    metrics={"blackbird": lambda _worker: host.about()},
                    memory_limit=0,
                    dashboard=False,
                    dashboard_address=":0",
                ) as worker,
                Client(options.address, asynchronous=True, set_as_default=False) as client,
            ):
                host.worker, host.client, said, was_connected = worker, client, "", True
                # Agents may have ended while it connected.
                await worker.set_resources(**host.resources())
                host.say(f"connected to {options.address} as {options.name}")
                await worker.finished()
                reason = "the scheduler is away"
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            # Dask tells in a RuntimeError that its worker did not start, and why in its cause.
            cause = error.__cause__ or error
            reason = f"{options.address} cannot be used: {cause}"
            if _TAKEN in str(cause):
                reason = f"another worker is connected to {options.address} as {options.name}"
            elif not was_connected and not isinstance(cause, OSError):
                raise UnusableError(reason) from error
        finally:
            host.worker = host.client = None
        if reason != said:
            host.say(f"{reason}; trying again")
        said = reason
        await asyncio.sleep(_RETRY_SECONDS)
