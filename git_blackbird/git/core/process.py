"""Run the git program: bytes in, bytes out, with a time limit and a fixed environment."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import IO

from git_blackbird import trace
from git_blackbird.errors import UnusableError
from git_blackbird.git.core.output import Completed
from git_blackbird.model.base.system import is_exhausted, refusal_hint

# Polling interval for a process whose pipes stay open, which only a grandchild can cause.
_POLL_SECONDS = 0.1
_CHUNK = 64 * 1024


class Process(subprocess.Popen[bytes]):
    """A process whose wait with a time limit does not poll, as it does before Python 3.15."""

    def wait(self, timeout: float | None = None) -> int:
        if sys.platform == "linux" and timeout is not None and self.returncode is None:
            # Without descriptors to spare, or on an old kernel, it is a nap.
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(self.pid)
                try:
                    ended = select.poll()
                    ended.register(descriptor, select.POLLIN)
                    ended.poll(max(timeout, 0) * 1000)
                finally:
                    os.close(descriptor)
        return super().wait(timeout)


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
    """Exchange data until the process ends, whoever has its pipes open; None once the deadline has passed."""
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
    try:
        out, err = process.communicate(timeout=_POLL_SECONDS)
    except subprocess.TimeoutExpired as error:
        out = (error.output or b"") + _read_rest(process.stdout)
        err = (error.stderr or b"") + _read_rest(process.stderr)
    return Completed(process.returncode, out, err)


def _read_rest(pipe: IO[bytes] | None) -> bytes:
    parts: list[bytes] = []
    if pipe is not None and not pipe.closed:
        os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), _CHUNK):
                parts.append(data)
    return b"".join(parts)


def not_started(error: OSError, cwd: Path) -> UnusableError:
    if error.filename is not None and os.fsdecode(error.filename) == os.fspath(cwd):
        return UnusableError(f"cannot work in {cwd}: {error.strerror}")
    hint = refusal_hint(error) if is_exhausted(error) else "install git 2.31 or newer, or put it on PATH"
    return UnusableError(f"cannot start git: {error.strerror}", hint=hint)


# Untranslated messages to parse, and no prompt on a terminal.
_ALWAYS = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
# No lock for a mere refresh; who works on an index of its own may want it refreshed.
_UNLESS_ASKED = {"GIT_OPTIONAL_LOCKS": "0"}


class GitError(UnusableError):
    """Git refused or failed; ``message`` is git's own error message if there is one."""

    def __init__(
        self, command: Sequence[str], code: int, stderr: bytes, *, message: str | None = None
    ) -> None:
        self.command = tuple(command)
        self.code = code
        self.stderr = stderr
        super().__init__(message or _first_words(stderr) or f"git {_verb(command)} ended with status {code}")


class GitTimeoutError(GitError):
    """Git exceeded its time limit and was killed with its process group."""


def revisions(*names: str) -> tuple[str, ...]:
    """Fence off object names: git can take none for an option.

    Everything read from a file reaches git's command line through this function or ``operands``, or else
    through standard input.
    """
    return "--end-of-options", *names


def operands(*names: str) -> tuple[str, ...]:
    """Fence off paths, keys and values: git can take none for an option or a revision."""
    return "--", *names


def name_lines(names: Iterable[str]) -> bytes:
    """Return object names for git's standard input. Raises UnusableError for what names no single object."""
    listed = tuple(names)
    for name in listed:
        if name.startswith("-") or not name.isprintable():
            raise UnusableError(f"{name!a} is not the name of a git object")
    return "".join(f"{name}\n" for name in listed).encode(errors="surrogateescape")


def nul_ended(records: Iterable[bytes]) -> bytes:
    """Return paths, or other records, for git's standard input with ``-z``."""
    return b"".join(record + b"\0" for record in records)


def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> Completed:
    """Run ``git ARGS`` in ``cwd`` and wait for at most ``timeout`` seconds.

    Git runs in a session of its own: its filters and hooks are killed with it at the time limit, and nothing
    it starts, such as ssh, asks on the terminal. A grandchild that keeps the pipes open after git ended is
    not waited for. Raises GitTimeoutError, GitError for a status other than 0 if ``check``, and UnusableError
    if git cannot be started.
    """
    began = time.monotonic()
    deadline = None if timeout is None else began + timeout
    with _started(args, cwd, environ, has_input=stdin is not None) as process:
        feed(process, stdin)
        completed = wait(process, deadline)
    code = "still running" if completed is None else completed.code
    trace.event("exit", process.pid, code, time.monotonic() - began, ("git", *args))
    if completed is None:
        message = f"git {_verb(args)} was still running after {timeout:g} s"
        raise GitTimeoutError(args, -signal.SIGKILL, b"", message=message)
    if check and completed.code != 0:
        raise GitError(args, completed.code, completed.err)
    return completed._replace(verb=_verb(args))


class GitStoppedError(GitError):
    """Git was ended by ``GitWork.stop`` on behalf of the user."""


class GitWork:
    """Work in another thread whose git processes can be stopped, for Ctrl+C: a filter may hang."""

    def __init__(self) -> None:
        # The git processes that the thread waits for, and whether each was killed.
        self.running: dict[subprocess.Popen[bytes], bool] = {}
        self.stops = 0

    @contextlib.contextmanager
    def in_this_thread(self) -> Iterator[None]:
        token = _work.set(self)
        try:
            yield
        finally:
            _work.reset(token)

    def stop(self) -> None:
        """Kill the git processes that run now; the thread raises GitStoppedError."""
        with _running_lock:
            self.stops += 1
            for process in [process for process, is_stopped in self.running.items() if not is_stopped]:
                self.running[process] = True
                _kill_group(process)


_running_lock = threading.Lock()
_work: ContextVar[GitWork] = ContextVar("git work")
_UNSTOPPED = GitWork()


@contextlib.contextmanager
def deferring_stop() -> Iterator[None]:
    """Keep short git commands in the block from being stopped, where half of their effect would harm.

    Raises GitStoppedError after the block if the surrounding work was stopped meanwhile.
    """
    work = _work.get(_UNSTOPPED)
    before = work.stops
    with GitWork().in_this_thread():
        yield
    if work.stops != before:
        raise GitStoppedError((), -signal.SIGKILL, b"", message="git was interrupted")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Not yet reaped, so the process id cannot have been reused.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _started(
    args: Sequence[str], cwd: Path, environ: Mapping[str, str], *, has_input: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Start git for the block; kill its group afterwards. Raises GitStoppedError if the user ended it."""
    running = _work.get(_UNSTOPPED).running
    process = None
    try:
        with _deferring_interrupt():
            try:
                process = Process(
                    ["git", *args],
                    cwd=cwd,
                    env={**_UNLESS_ASKED, **environ, **_ALWAYS},
                    stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except OSError as error:
                raise not_started(error, cwd) from error
            except ValueError as error:
                raise UnusableError(f"cannot start git {_verb(args)}: {error}") from error
            with _running_lock:
                running[process] = False
        yield process
    finally:
        if process is not None:
            with _deferring_interrupt():
                with _running_lock:
                    _kill_group(process)
                process.wait()
                for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
                    with contextlib.suppress(OSError):
                        pipe.close()
                with _running_lock:
                    was_stopped = running.pop(process)
            if was_stopped:
                message = f"git {_verb(args)} was interrupted"
                raise GitStoppedError(args, -signal.SIGKILL, b"", message=message)


@contextlib.contextmanager
def _deferring_interrupt() -> Iterator[None]:
    """Defer Ctrl+C to the end of the block: within, it could leave a process that nobody ends."""
    is_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if is_main else None
    if not callable(handler):
        yield
        return
    presses: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda *press: presses.append(press))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if presses:
            handler(*presses[0])


# What git says last of a filter that failed, or could not be started; which of these depends on the moment.
_FILTER_FAILED = r"fatal: (the remote end hung up unexpectedly|.*: (clean|smudge) filter .* failed)"
_FILTER_LINES = 5
_WORDS_OF_GIT = ("fatal: ", "error: ", "warning: ", "hint: ")


def _first_words(stderr: bytes) -> str:
    """Return git's ``fatal:`` or ``error:`` line with the lines its colon announces; else the first line.

    What a filter says, or the shell of one that it cannot start, comes before git's line about it.
    """
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    if lines and re.fullmatch(_FILTER_FAILED, lines[-1]):
        words = [line for line in lines if not line.startswith(_WORDS_OF_GIT)]
        return "; ".join((*words[-_FILTER_LINES:], lines[-1].removeprefix("fatal: ")))
    for word in ("fatal: ", "error: "):
        for number, line in enumerate(lines):
            if line.startswith(word):
                more = lines[number + 1 : number + 2] if line.endswith(":") else []
                return " ".join([line.removeprefix(word), *map(str.strip, more)])
    return lines[0] if lines else ""


def _verb(args: Sequence[str]) -> str:
    rest = list(args)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in {"-c", "-C"} else 1]
    return rest[0] if rest else ""
