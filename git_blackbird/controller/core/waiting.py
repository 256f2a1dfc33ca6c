"""Interruptible waiting for work in a thread, and for an answer that another process may give."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.process import GitWork
from git_blackbird.model.run.run import Run
from git_blackbird.storage.files import changed_at

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread; cancelling ends the git processes that it waits for, and waits for it."""
    git = GitWork()
    running = asyncio.get_running_loop().run_in_executor(None, _run, work, git)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        git.stop()
        await asyncio.wait([running])
        if not running.cancelled():
            # Its error was for the caller that waited for its result.
            running.exception()
        raise


async def finish_in_thread(work: Callable[[], T], hurry: asyncio.Event) -> T:
    """Run ``work`` in a thread to its end, also when cancelled; ``hurry`` ends what git does for it."""
    git = GitWork()
    running = asyncio.get_running_loop().run_in_executor(None, _run, work, git)
    hurried = asyncio.ensure_future(hurry.wait())
    both: set[asyncio.Future[Any]] = {running, hurried}
    try:
        while not running.done():
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                continue
            if hurried.done() and not running.done():
                git.stop()
                await asyncio.wait([running])
    finally:
        hurried.cancel()
    return running.result()


def _run(work: Callable[[], T], git: GitWork) -> T:
    with git.in_this_thread():
        return work()


# How often is looked at what another process may change.
WATCH_SECONDS = 0.2
# What changes between the last reading and the first look is seen after this many.
LOOKS = 150


def last_written(workspace: Workspace) -> tuple[int, int]:
    """Return when the plan and any record were last written."""
    return changed_at(workspace.paths.plan), changed_at(workspace.paths.private_tmp)


async def any_change(workspace: Workspace, seen: tuple[int, int]) -> None:
    """Wait until plan or records are not as last written when they were ``seen``, or for a while."""
    for _ in range(LOOKS):
        await asyncio.sleep(WATCH_SECONDS)
        if last_written(workspace) != seen:
            return


async def race_external_change(workspace: Workspace, ask: Callable[[], Awaitable[T]], run: Run) -> T | Run:
    """Ask, and watch the record: the first answer counts, and the other is cancelled."""
    asked: asyncio.Future[T] = asyncio.ensure_future(ask())
    watched = asyncio.ensure_future(external_change(workspace, run))
    try:
        both: set[asyncio.Future[Any]] = {asked, watched}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return asked.result() if asked.done() else watched.result()
    finally:
        asked.cancel()
        watched.cancel()
        await asyncio.gather(asked, watched, return_exceptions=True)


async def external_change(workspace: Workspace, run: Run) -> Run:
    """Wait until another process has decided on a run, overtaken it or changed its result; return it."""
    while True:
        seen = last_written(workspace)
        stored = workspace.store.records.history(run.task_id).find(run.id)
        if stored is not None and (
            stored.decision_state != run.decision_state
            or stored.is_superseded
            or stored.head_tree != run.head_tree
        ):
            return stored
        await any_change(workspace, seen)
