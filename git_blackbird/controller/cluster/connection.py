"""The connection of a call to its workers: who is there, and what each makes now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from git_blackbird.messages.display.format import counted
from git_blackbird.model.base.sanitize import clean_line

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class WorkerInfo:
    """A worker that is connected: its name, the versions of its agents, and the runs that it makes now."""

    name: str
    agents: Mapping[str, str]
    runs: frozenset[str]
    slots: int


@dataclass
class Connection:
    """A client of the scheduler, the remote by which files travel, and the workers when last asked."""

    client: "Client"
    remote: str
    workers: tuple[WorkerInfo, ...] = ()
    dashboard: str | None = None

    @property
    def about(self) -> str:
        """Say which workers there are, and where Dask shows what it does if it does so."""
        named = (f"{clean_line(worker.name)} ({counted(worker.slots, 'slot')})" for worker in self.workers)
        shown = f"; Dask's dashboard: {clean_line(self.dashboard)}" if self.dashboard else ""
        return f"workers: {', '.join(sorted(named))}{shown}"

    @property
    def runs(self) -> frozenset[str]:
        """The runs that workers made when they were last asked."""
        return frozenset[str]().union(*(worker.runs for worker in self.workers))

    async def look(self) -> tuple[WorkerInfo, ...]:
        """Ask which workers are connected. Raises OSError while the scheduler is away."""
        scheduler = self.client.scheduler
        if scheduler is None:
            raise OSError("the scheduler is away")
        found = await scheduler.identity(n_workers=-1)
        self.workers = tuple(_worker_infos(found))
        return self.workers


def _worker_infos(identity: Mapping[str, Any]) -> list[WorkerInfo]:
    infos = []
    for worker in identity["workers"].values():
        about = worker.get("metrics", {}).get("blackbird")
        if about is not None:
            runs, slots = frozenset(about["runs"]), int(about["slots"])
            infos.append(WorkerInfo(str(worker["name"]), about["agents"], runs, slots))
    return infos
