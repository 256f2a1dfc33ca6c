"""Exchange data with a child process until it ends, whoever else has its pipes open."""

import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import Completed
from git_blackbird.model.base.system import is_exhausted, refusal_hint

# Polling interval for a process whose pipes stay open, which only a grandchild can cause.
_POLL_SECONDS = 0.1
_CHUNK = 64 * 1024


class Process(subprocess.Popen[bytes]):
    """A process whose wait with a time limit does not sleep in steps, as it does before Python 3.15."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        if sys.platform == "linux" and timeout is not None and self.returncode is None:
            # Without descriptors to spare, or on an old kernel, it is a nap.
            with contextlib.suppress(OSError):
                _await_exit(os.pidfd_open(self.pid), timeout)
        return super().wait(timeout)


def _await_exit(descriptor: int, timeout: float) -> None:
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(max(timeout, 0) * 1000)
    finally:
        os.close(descriptor)


def feed(process: subprocess.Popen[bytes], data: bytes | None) -> None:
    """Write ``data`` to the process, in a separate thread where its pipe may not hold all of it.

    ``communicate`` writes no more when it is called again after its timeout.
    """
    pipe, process.stdin = process.stdin, None
    if pipe is None:
        return

    def write() -> None:
        # A process that ends without reading everything did not need the rest.
        with contextlib.suppress(BrokenPipeError), pipe:
            pipe.write(data or b"")

    if data is None or len(data) <= select.PIPE_BUF:
        write()
    else:
        threading.Thread(target=write, daemon=True).start()


def wait(process: subprocess.Popen[bytes], deadline: float | None) -> Completed | None:
    """Exchange data until the process ends, whoever has its pipes open; None if the deadline passes first."""
    while True:
        left = _POLL_SECONDS if deadline is None else min(_POLL_SECONDS, deadline - time.monotonic())
        try:
            out, err = process.communicate(timeout=max(left, 0))
        except subprocess.TimeoutExpired:
            if process.poll() is not None:
                return _collected(process)
            if deadline is not None and time.monotonic() >= deadline:
                return None
        else:
            return Completed(process.returncode, out, err)


def _collected(process: subprocess.Popen[bytes]) -> Completed:
    """Return all output of an ended process, even if a grandchild keeps its pipes open."""
    try:
        out, err = process.communicate(timeout=_POLL_SECONDS)
    except subprocess.TimeoutExpired as error:
        out = (error.output or b"") + _read_rest(process.stdout)
        err = (error.stderr or b"") + _read_rest(process.stderr)
    return Completed(process.returncode, out, err)


def _read_rest(pipe: IO[bytes] | None) -> bytes:
    """Read what is in a pipe now, without waiting."""
    parts: list[bytes] = []
    if pipe is not None and not pipe.closed:
        os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), _CHUNK):
                parts.append(data)
    return b"".join(parts)


def not_started(error: OSError, cwd: Path) -> UnusableError:
    """Return the error to raise where git cannot be started in ``cwd``."""
    if error.filename is not None and os.fsdecode(error.filename) == os.fspath(cwd):
        return UnusableError(f"cannot work in {cwd}: {error.strerror}")
    hint = refusal_hint(error) if is_exhausted(error) else "install git 2.31 or newer, or put it on PATH"
    return UnusableError(f"cannot start git: {error.strerror}", hint=hint)
