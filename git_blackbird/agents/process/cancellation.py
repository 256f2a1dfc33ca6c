"""Work that is interrupted, not abandoned, when whoever awaits it is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Interruptible(Protocol):
    """Something at work that can be asked to end."""

    def interrupt(self, *, at_once: bool) -> None: ...


async def finish(work: Coroutine[Any, Any, T], worker: Interruptible) -> T:
    """Await work to its end; cancelling interrupts the worker instead, from the second time on at once."""
    task = asyncio.ensure_future(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            worker.interrupt(at_once=is_cancelled)
            is_cancelled = True
    return task.result()
