"""Interruptible waiting for work in a thread, and for an answer that another process may give."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.git.core.process import GitWork
from git_blackbird.model.run.run import Run

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread; cancelling ends the git processes that it waits for, and waits for it."""
    git = GitWork()
    running = asyncio.ensure_future(asyncio.to_thread(_run, work, git))
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
    running = asyncio.ensure_future(asyncio.to_thread(_run, work, git))
    hurried = asyncio.ensure_future(hurry.wait())
    try:
        while not running.done():
            try:
                await asyncio.wait({running, hurried}, return_when=asyncio.FIRST_COMPLETED)
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


# How often a record is looked at that another process may change.
WATCH_SECONDS = 0.2


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
        await asyncio.sleep(WATCH_SECONDS)
        stored = workspace.store.records.history(run.task_id).find(run.id)
        if stored is not None and (
            stored.decision_state != run.decision_state
            or stored.is_superseded
            or stored.head_tree != run.head_tree
        ):
            return stored
