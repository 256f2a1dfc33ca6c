"""A thread that writes to the streams of the process, so that a slow reader holds nothing up."""

import asyncio
import errno
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager

from git_blackbird.cli.stdio import OutputError, write_some

STDOUT = 1
STDERR = 2
MAX_BACKLOG = 256 * 1024
# How a pipe without a reader and a terminal that is gone refuse: nobody misses what is not printed there.
_LEFT = frozenset({errno.EPIPE, errno.EIO})

Job = Callable[[], None]


class Writer:
    """Writes what it is given, in order, in a thread of its own.

    Giving never blocks. What may be dropped is dropped while more than ``MAX_BACKLOG`` characters wait,
    and how many bytes were is reported in their place. Once a reader has gone away, the rest is forgotten.
    """

    def __init__(self) -> None:
        self._jobs: deque[tuple[Job, int]] = deque()
        self._wake = threading.Condition()
        self._waiting = 0
        self._dropped = 0
        self._closed = False
        self._held = False
        self._failure: Exception | None = None
        # A stream that was closed from the start is written to no more than one whose reader went away: its
        # number may belong to any other file by now.
        streams = {STDOUT: sys.stdout, STDERR: sys.stderr}
        self._gone = {number for number, stream in streams.items() if stream is None}
        self._encodings: dict[int, str] = {}
        for number in streams.keys() - self._gone:
            streams[number].flush()
            self._encodings[number] = streams[number].encoding or "utf-8"
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    def put(self, text: str, stream: int = STDOUT) -> None:
        """Write one piece of text; it is never dropped."""
        self.perform(lambda: self.write(text, stream), len(text))

    def put_droppable(self, text: str, where: int = STDOUT) -> None:
        """Write one piece of text if whoever reads keeps up, else count what is lost."""
        if self.is_behind:
            self.drop(len(text.encode(errors="replace")))
        else:
            self.report_dropped()
            self.put(text, where)

    def drop(self, size: int) -> None:
        """Count ``size`` bytes as lost; the total is reported with the next write."""
        self._dropped += size

    @property
    def is_behind(self) -> bool:
        """Whether more waits than may."""
        return self._waiting > MAX_BACKLOG

    @property
    def has_kept(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._jobs)

    def perform(self, job: Job, size: int = 0) -> None:
        """Do something in the thread once all before it is done; ``size`` counts as what waits."""
        with self._wake:
            self._jobs.append((job, size))
            self._waiting += size
            self._wake.notify()

    def write(self, text: str, stream: int = STDOUT) -> None:
        """Write at once; only for jobs, since it may block."""
        data = memoryview(text.encode(self._encodings.get(stream, "utf-8"), errors="replace"))
        while data and stream not in self._gone:
            try:
                data = data[write_some(stream, data) :]
            except OSError as error:
                # The pipe has no reader or the terminal hung up; the work goes on without being shown.
                self._gone.add(stream)
                if stream == STDOUT and error.errno not in _LEFT:
                    self._failure = OutputError(error)

    async def drained(self) -> None:
        """Wait until everything given so far is written; nothing else is held up meanwhile."""
        done: Future[None] = Future()
        self.perform(lambda: _resolve(done))
        await asyncio.wrap_future(done)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Write all that was given before the block, and keep what comes until its end.

        For a question: what others do must not be written into it.
        """
        try:
            await self._hold()
            yield
        finally:
            self._release()

    async def let_through(self) -> None:
        """Write, in a block of ``held``, what was kept so far."""
        self._release()
        await self._hold()

    async def _hold(self) -> None:
        done: Future[None] = Future()
        self.perform(lambda: self._shut(done))
        await asyncio.wrap_future(done)

    def _shut(self, done: Future[None]) -> None:
        self.make_way()
        self._held = True
        # A wait that was given up is followed by nothing that would open it.
        if done.set_running_or_notify_cancel():
            done.set_result(None)
        else:
            self._held = False

    def _release(self) -> None:
        with self._wake:
            self._held = False
            self._wake.notify()

    def make_way(self) -> None:
        """Take away what is not to stay, in the thread."""

    def close(self) -> None:
        """Write what is left and end the thread; raises what went wrong in it."""
        self.report_dropped()
        with self._wake:
            self._closed = True
            self._wake.notify()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def report_dropped(self) -> None:
        """Say how many bytes were dropped since the last report."""
        if self._dropped:
            self.put(f"\n[{self._dropped} bytes are not shown: the screen could not keep up]\n")
            self._dropped = 0

    def _run(self) -> None:
        while (entry := self._next()) is not None:
            job, size = entry
            try:
                job()
            except Exception as error:  # noqa: BLE001  # raised by close; until then the rest is shown
                self._failure = error
            with self._wake:
                self._waiting -= size

    def _next(self) -> tuple[Job, int] | None:
        with self._wake:
            while self._held and not self._closed:
                self._wake.wait()
            if not self._jobs and not self._closed:
                self._wake.wait(self.pause_seconds())
            if self._jobs:
                return self._jobs.popleft()
            return None if self._closed else (self.idle, 0)

    def pause_seconds(self) -> float | None:
        """Return how long to wait for something to write before ``idle`` is called; None is for ever."""
        return None

    def idle(self) -> None:
        """Do what is to be done while nothing is to be written."""


def _resolve(future: Future[None]) -> None:
    # A wait that was given up has cancelled it.
    if future.set_running_or_notify_cancel():
        future.set_result(None)
