"""A scheduler and workers on this machine, for one call."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

from git_blackbird.agents.process.logs import open_log
from git_blackbird.cluster.worker import ENDING_SECONDS, WITH_PARENT
from git_blackbird.controller.core.workspace import Workspace

_UNENCRYPTED = "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"


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
