"""The one runner of the git program: bytes in, bytes out, bounded in time, deaf to its surroundings."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.along import ALONG
from git_blackbird.model.system_faults import is_exhausted, refusal_hint

LOCAL_VARIABLES = (
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
)
"""What ``git rev-parse --local-env-vars`` names: variables that tie a process to one repository."""

# Fixed words to recognise, no lock taken for a mere refresh, and no question to a terminal nobody watches.
_ALWAYS = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}

# How often a process whose pipes do not close is looked at: only a grandchild that keeps them makes it wait.
_LOOK_SECONDS = 0.1
_CHUNK = 64 * 1024
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP)


class Completed(NamedTuple):
    """How one process ended, what it wrote, and whether a Ctrl+C came meanwhile that was for it to hear."""

    code: int
    out: bytes
    err: bytes
    interrupted: bool = False


class GitError(UnusableError):
    """Git refused or failed; ``message`` is in git's own words where it has any."""

    def __init__(
        self, command: Sequence[str], code: int, stderr: bytes, *, message: str | None = None
    ) -> None:
        self.command = tuple(command)
        self.code = code
        self.stderr = stderr
        super().__init__(message or _first_words(stderr) or f"git {_verb(command)} ended with status {code}")


class GitTimeoutError(GitError):
    """Git was still at work when its time was up; it and its process group were killed."""


def revisions(*names: str) -> tuple[str, ...]:
    """Return arguments for objects that a command is about, none of which git takes for an option.

    Whatever came from a file goes onto git's command line by this function or ``operands``, or comes to its
    standard input.
    """
    return "--end-of-options", *names


def operands(*names: str) -> tuple[str, ...]:
    """Return arguments for paths, keys and values, none of which git takes for an option or a revision."""
    return "--", *names


def name_lines(names: Iterable[str]) -> bytes:
    """Return names of objects for git's standard input, one a line.

    Raises UnusableError for a name that git would take for more than one, or for an option.
    """
    listed = tuple(names)
    for name in listed:
        if name.startswith("-") or not name.isprintable():
            raise UnusableError(f"{name!a} names no object of git")
    return "".join(f"{name}\n" for name in listed).encode(errors="surrogateescape")


def scrubbed(environ: Mapping[str, str]) -> dict[str, str]:
    """Give ``environ`` less the variables that tie a process to one repository."""
    return {name: value for name, value in environ.items() if name not in LOCAL_VARIABLES}


def run_git(
    args: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: float | None = None,
    check: bool = True,
) -> Completed:
    """Run ``git ARGS`` in ``cwd`` and wait for it at most ``timeout`` seconds.

    Git runs in a process group of its own, so that what it starts (filters, hooks) dies with it when the time
    is up; a grandchild that keeps the pipes open after git ended is not waited for. Raises GitTimeoutError,
    GitError for another status than 0 when ``check``, and UnusableError when git cannot be started.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    with _started(args, cwd, environ, has_input=stdin is not None) as process:
        _feed(process, stdin)
        done = _wait(process, deadline)
    if done is None:
        message = f"git {_verb(args)} was still running after {timeout:g} s"
        raise GitTimeoutError(args, -signal.SIGKILL, b"", message=message)
    if check and done.code != 0:
        raise GitError(args, done.code, done.err)
    return done


def run_for_user(args: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Completed:
    """Run ``git ARGS`` as if the user had typed it, for what starts programs of theirs: hooks, signing.

    See ``run_along``.
    """
    # The git of the user's PATH is the one that must do the work.
    return run_along(("git", *args), cwd=cwd, environ=environ)


class Kept(NamedTuple):
    """What a program is given to read, and the descriptors that it keeps."""

    stdin: bytes | None = None
    descriptors: tuple[int, ...] = ()


_NOTHING = Kept()


def run_along(
    command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], kept: Kept = _NOTHING
) -> Completed:
    """Run a program that starts programs of the user's, and outlives this process if that is killed.

    It is in this process's group, so that they may ask at the terminal, unless that is taken; it takes as
    long as they take. A Ctrl+C is for them to hear, and a SIGTERM or SIGHUP is passed on. Raises
    UnusableError when it cannot be started.
    """
    is_apart = not ALONG.has_terminal
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL if kept.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=kept.descriptors,
            start_new_session=is_apart,
        )
    except OSError as error:
        raise _not_started(error, cwd) from error
    with process, _passing_on(process), ALONG.noted(process.pid) if is_apart else contextlib.nullcontext():
        done = _wait_through(process, kept.stdin)
        return done._replace(interrupted=done.interrupted or ALONG.is_told(process.pid))


def _wait_through(process: subprocess.Popen[bytes], stdin: bytes | None) -> Completed:
    """Wait for the end, whatever is pressed meanwhile."""
    interrupted = False
    _feed(process, stdin)
    while True:
        try:
            done = _wait(process, None)
        except KeyboardInterrupt:
            interrupted = True
        else:
            if done is not None:
                return done._replace(interrupted=interrupted)


@contextlib.contextmanager
def _passing_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Let who asks this process to end ask the other instead; only where signals are heard at all."""

    def pass_on(number: int, _: object) -> None:
        process.send_signal(number)

    is_main = threading.current_thread() is threading.main_thread()
    heard = [number for number in _PASSED_ON if is_main and signal.getsignal(number) is not signal.SIG_IGN]
    before = [(number, signal.signal(number, pass_on)) for number in heard]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


class GitStoppedError(GitError):
    """Git was ended by ``stop_git``: a person interrupted what it was for."""

    def __init__(self, command: Sequence[str]) -> None:
        message = f"git {_verb(command)} was interrupted"
        super().__init__(command, -signal.SIGKILL, b"", message=message)


class _Running:
    """The git processes of our own that threads of this process wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopped: set[subprocess.Popen[bytes]] = set()

    def add(self, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._processes.add(process)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the group of a process unless it has been reaped, and wait for the process."""
        with self._lock:
            _kill_group(process)
        process.wait()

    def remove(self, process: subprocess.Popen[bytes]) -> bool:
        """Forget a process; returns whether it was stopped."""
        with self._lock:
            self._processes.discard(process)
            was_stopped = process in self._stopped
            self._stopped.discard(process)
            return was_stopped

    def stop(self) -> None:
        with self._lock:
            for process in self._processes - self._stopped:
                self._stopped.add(process)
                _kill_group(process)


_RUNNING = _Running()


def stop_git() -> None:
    """End every git process that another thread waits for; the thread raises GitStoppedError.

    For a Ctrl+C that this thread hears: a filter of the repository may hang. Git that runs for the user
    (``run_for_user``) is left alone.
    """
    _RUNNING.stop()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    # Not yet reaped, so the number cannot have passed to a stranger.
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


@contextlib.contextmanager
def _started(
    args: Sequence[str], cwd: Path, environ: Mapping[str, str], *, has_input: bool
) -> Iterator[subprocess.Popen[bytes]]:
    """Start git; whatever happens, its group does not outlive the block unless git ended by itself.

    Raises GitStoppedError where ``stop_git`` ended it.
    """
    try:
        process = subprocess.Popen(
            ["git", *args],  # noqa: S607 - the git of the user's PATH is the one that must do the work
            cwd=cwd,
            env={**environ, **_ALWAYS},
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
        )
    except OSError as error:
        raise _not_started(error, cwd) from error
    except ValueError as error:
        raise UnusableError(f"cannot start git {_verb(args)}: {error}") from error
    _RUNNING.add(process)
    try:
        yield process
    finally:
        _RUNNING.kill(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if _RUNNING.remove(process):
            raise GitStoppedError(args)


def _feed(process: subprocess.Popen[bytes], data: bytes | None) -> None:
    """Write ``data`` to the process in a thread of its own.

    ``communicate`` cannot be asked to: called again after its time was up, it writes no more.
    """
    pipe, process.stdin = process.stdin, None
    if pipe is None:
        return

    def write() -> None:
        # Who ends without having read it all needed no more.
        with contextlib.suppress(BrokenPipeError), pipe:
            pipe.write(data or b"")

    threading.Thread(target=write, daemon=True).start()


def _wait(process: subprocess.Popen[bytes], deadline: float | None) -> Completed | None:
    """Exchange data until git ended, whoever still holds its pipes; None when the deadline passed first."""
    while True:
        left = _LOOK_SECONDS if deadline is None else min(_LOOK_SECONDS, deadline - time.monotonic())
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
    """Give all that an ended process wrote, though a grandchild may keep its pipes open."""
    try:
        out, err = process.communicate(timeout=_LOOK_SECONDS)
    except subprocess.TimeoutExpired as kept:
        out = (kept.output or b"") + _rest(process.stdout)
        err = (kept.stderr or b"") + _rest(process.stderr)
    return Completed(process.returncode, out, err)


def _rest(pipe: IO[bytes] | None) -> bytes:
    """Read what lies in a pipe now, and wait for nothing more."""
    parts: list[bytes] = []
    if pipe is not None and not pipe.closed:
        os.set_blocking(pipe.fileno(), False)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe.fileno(), _CHUNK):
                parts.append(data)
    return b"".join(parts)


def _not_started(error: OSError, cwd: Path) -> UnusableError:
    if error.filename is not None and os.fsdecode(error.filename) == os.fspath(cwd):
        return UnusableError(f"cannot work in {cwd}: {error.strerror}")
    hint = refusal_hint(error) if is_exhausted(error) else "install git 2.31 or newer, or put it on PATH"
    return UnusableError(f"cannot start git: {error.strerror}", hint=hint)


def _first_words(stderr: bytes) -> str:
    """Pick git's ``fatal:`` or ``error:`` line, with what its colon announces; else the first line."""
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    for word in ("fatal: ", "error: "):
        for number, line in enumerate(lines):
            if line.startswith(word):
                more = lines[number + 1 : number + 2] if line.endswith(":") else []
                return " ".join([line.removeprefix(word), *map(str.strip, more)])
    return lines[0] if lines else ""


def _verb(args: Sequence[str]) -> str:
    """Name the git command among its options, for messages."""
    rest = list(args)
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in {"-c", "-C"} else 1]
    return rest[0] if rest else ""
