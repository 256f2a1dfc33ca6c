"""Give the screen priority: threads that share the interpreter with it work while it waits."""

import asyncio
import selectors
import threading
import time

# A frame takes less; what takes longer is not worth to be waited for.
_LONGEST_WAIT_SECONDS = 0.03
_WORK_SECONDS = 0.001
_PAUSE_SECONDS = 0.0002


class UiPriority:
    """Lets the UI thread go first: background threads yield the GIL to it whenever it has work."""

    def __init__(self) -> None:
        self._may_work = threading.Event()
        self._may_work.set()
        self._thread = threading.local()

    def new_ui_loop(self) -> asyncio.AbstractEventLoop:
        """Return an event loop for the UI thread, for which background threads wait."""
        return asyncio.SelectorEventLoop(_UiSelector(self._may_work))

    def yield_to_ui(self) -> None:
        """Wait until the UI thread has nothing to do, or works for so long that both have to."""
        is_free = time.monotonic() < getattr(self._thread, "free_until", 0.0)
        if not is_free and not self._may_work.wait(_LONGEST_WAIT_SECONDS):
            self._thread.free_until = time.monotonic() + _LONGEST_WAIT_SECONDS
        # Reading many files releases the GIL often, but too briefly for another thread to acquire it.
        if time.monotonic() - getattr(self._thread, "paused_at", 0.0) > _WORK_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            self._thread.paused_at = time.monotonic()


class _UiSelector(selectors.DefaultSelector):
    """Sets an event while the event loop waits."""

    def __init__(self, is_waiting: threading.Event) -> None:
        super().__init__()
        self._is_waiting = is_waiting

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout > 0:
            self._is_waiting.set()
        ready = super().select(timeout)
        self._is_waiting.clear()
        return ready

    def close(self) -> None:
        self._is_waiting.set()
        super().close()
