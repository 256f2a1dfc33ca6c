"""Blocking work in a thread, so that Ctrl+C is handled meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from git_blackbird.git.core.process import stop_git

T = TypeVar("T")


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread; cancelling ends the git processes that it waits for, and waits for it."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop_git()
        await asyncio.wait([running])
        if not running.cancelled():
            # What it raised was for who waited for its result.
            running.exception()
        raise


async def finish_in_thread(work: Callable[[], T], hurry: asyncio.Event) -> T:
    """Run ``work`` in a thread to its end, also when cancelled; ``hurry`` ends what git does for it."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    hurried = asyncio.ensure_future(hurry.wait())
    try:
        while not running.done():
            try:
                await asyncio.wait({running, hurried}, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                continue
            if hurried.done() and not running.done():
                stop_git()
                await asyncio.wait([running])
    finally:
        hurried.cancel()
    return running.result()
