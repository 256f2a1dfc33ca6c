"""The connection of a call to its workers, and workers that are started on this machine for it."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from git_blackbird.agents.process.logs import open_log
from git_blackbird.cluster.worker import ENDING_SECONDS, WITH_PARENT
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.messages.display.quantities import counted

if TYPE_CHECKING:
    from distributed import Client

_POLL_SECONDS = 0.5
_UNENCRYPTED = "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"
_DISCONNECT_POLLS = 10


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that is connected: its name, the versions of its agents, and the runs that it makes now."""

    name: str
    agents: Mapping[str, str]
    runs: frozenset[str]
    slots: int


@dataclass
class Connection:
    """A client of the scheduler, the remote by which files travel, and the workers when last asked.

    ``present`` are the names of those that were connected then; ``workers`` are the last that were.
    """

    client: "Client"
    remote: str
    workers: tuple[WorkerInfo, ...] = ()
    dashboard: str | None = None
    is_away: bool = False
    present: frozenset[str] = frozenset()

    def status_change(self) -> str | None:
        """Report that the scheduler was lost or is back; None if its status has not changed."""
        was_away, self.is_away = self.is_away, self.client.status != "running"
        if was_away == self.is_away:
            return None
        return (
            "the scheduler is away; runs go on, and this call waits"
            if self.is_away
            else "the scheduler is back"
        )

    @property
    def about(self) -> str:
        """The connected workers, with the URL of the dashboard if there is one."""
        named = (f"{worker.name} ({counted(worker.slots, 'slot')})" for worker in self.workers)
        shown = f"; Dask's dashboard: {self.dashboard}" if self.dashboard else ""
        return f"workers: {', '.join(sorted(named))}{shown}"

    @property
    def runs(self) -> frozenset[str]:
        """The runs that workers made when they were last asked."""
        return frozenset[str]().union(*(worker.runs for worker in self.workers))

    async def wait_for_disconnect(self, worker: str) -> None:
        """Wait for a stopping worker to disconnect, up to a limit; its sessions are out of reach then."""
        for _ in range(_DISCONNECT_POLLS):
            with contextlib.suppress(OSError, TimeoutError):
                await self.fetch_workers()
            if worker not in self.present:
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def fetch_workers(self) -> tuple[WorkerInfo, ...]:
        """Fetch the connected workers. Raises OSError while the scheduler is unreachable.

        Workers take some time to reconnect to a restarted scheduler: until then the last ones count.
        """
        scheduler = self.client.scheduler
        if scheduler is None:
            raise OSError("the scheduler is away")
        found = []
        for worker in (await scheduler.identity(n_workers=-1))["workers"].values():
            about = worker.get("metrics", {}).get("blackbird")
            if about is not None:
                runs, slots = frozenset(about["runs"]), int(about["slots"])
                found.append(WorkerInfo(str(worker["name"]), about["agents"], runs, slots))
        self.present = frozenset(worker.name for worker in found)
        self.workers = tuple(found) or self.workers
        return tuple(found)


@contextlib.asynccontextmanager
async def local_workers(workspace: Workspace, count: int) -> AsyncIterator[str]:
    """Start a scheduler and workers on this machine, and return its address; they end with the block."""
    import dask  # an extra, and slow to load
    from distributed import Scheduler

    top = workspace.paths.state_root
    folder = top.parent / f"{top.name}.workers"
    # Encryption may be required between machines; within this one it is not needed.
    here = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.require-encryption": False}
    with dask.config.set(here):
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address=":0") as scheduler:
            programs = []
            for number in range(1, count + 1):
                place = folder / f"worker-{number}"
                place.mkdir(mode=0o700, parents=True, exist_ok=True)
                log = open_log(place / "worker.log")
                command = ("-m", "git_blackbird", "worker", scheduler.address, "--name", f"local-{number}")
                programs.append(
                    await asyncio.create_subprocess_exec(
                        sys.executable,
                        "-P",
                        *command,
                        "--dir",
                        str(place),
                        cwd=place,
                        stdin=asyncio.subprocess.PIPE,
                        stdout=log,
                        stderr=log,
                        env={**workspace.repo.environ, WITH_PARENT: "1", _UNENCRYPTED: "False"},
                        start_new_session=True,
                    )
                )
                os.close(log)
            try:
                yield scheduler.address
            finally:
                for program in programs:
                    assert program.stdin is not None  # noqa: S101  # a pipe was asked for
                    program.stdin.close()
                await asyncio.gather(*map(_await_exit, programs))


async def _await_exit(program: asyncio.subprocess.Process) -> None:
    """Wait for a worker whose standard input was closed; its agents die with it."""
    try:
        await asyncio.wait_for(program.wait(), ENDING_SECONDS)
    except TimeoutError:
        program.kill()
        await program.wait()
