"""Pause garbage collection while loading modules, plans and records, which all stay in use."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the garbage collector; if it was paused before, it stays paused."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
