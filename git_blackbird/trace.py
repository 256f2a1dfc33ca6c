"""Trace what the program starts, reads, writes, decides and waits for, with times.

``BLACKBIRD_TRACE`` is read as git reads ``GIT_TRACE``: ``1`` or ``true`` is standard error, an absolute path
is a file that is appended to. The latest events are kept in any case, for a bug report, and formatted only
when somebody reads them. Prompts, messages and values of the environment are not among them.
"""

import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

VARIABLE = "BLACKBIRD_TRACE"
_MOST_CHARACTERS = 500
_LATEST = 200
_Event = tuple[float, str, tuple[object, ...]]

_events: deque[_Event] = deque(maxlen=_LATEST)
# The destination of lines; None without a trace.
_write: Callable[[str], None] | None = None
# Seconds by task and phase; None where nobody wants them added up.
_spent: dict[tuple[str, str], float] | None = None


def event(what: str, *details: object) -> None:
    """Keep an event, and write it if there is a trace.

    ``details`` are joined with spaces; a float is a duration in seconds, a list or tuple a command.
    """
    entry = (time.time(), what, details)
    _events.append(entry)
    if _write is not None:
        _write(_line(entry))


@contextmanager
def measured(phase: str, task_id: str) -> Iterator[None]:
    """Measure the block as a part of the work on a task."""
    began = time.monotonic()
    try:
        yield
    finally:
        spent(phase, task_id, time.monotonic() - began)


def spent(phase: str, task_id: str, seconds: float) -> None:
    """Keep an event about the time that a part of the work on a task took; add it up if that is wanted."""
    event(phase, "of", task_id, seconds)
    if _spent is not None:
        _spent[task_id, phase] = _spent.get((task_id, phase), 0.0) + seconds


def add_up() -> Mapping[tuple[str, str], float]:
    """Begin to add up what is measured, and return the sums, which grow; by task and phase."""
    global _spent  # noqa: PLW0603  # one process makes one call
    _spent = {}
    return _spent


def latest() -> list[str]:
    """Return the lines of the latest events, the oldest first."""
    return [_line(entry) for entry in list(_events)]


def start(environ: Mapping[str, str]) -> None:
    """Start a trace if the environment asks for one; warn if that is not possible."""
    wanted = environ.get(VARIABLE, "")
    if wanted.lower() in {"", "0", "false"}:
        return
    if wanted.lower() in {"1", "true"}:
        _write_to(_to_standard_error)
    elif wanted.startswith("/"):
        try:
            # A pipe that nobody reads is an error, and no reason to wait.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
            descriptor = os.open(wanted, flags, 0o600)
        except OSError as error:
            _warn(f"cannot write the trace to {wanted}: {error.strerror}")
            return
        _write_to(lambda line: _append(descriptor, line))
    else:
        _warn(f"{VARIABLE} is neither 0, 1, true, false nor an absolute path: {wanted}")


def _write_to(write: Callable[[str], None]) -> None:
    global _write  # noqa: PLW0603  # one process has one trace
    _write = write
    # Sees every process and file, whichever library starts or opens it.
    sys.addaudithook(_audit)


def _to_standard_error(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _append(descriptor: int, line: str) -> None:
    """Write a line whole: several processes may write to the same file."""
    try:
        os.write(descriptor, f"{line}\n".encode(errors="replace"))
    except OSError as error:
        global _write  # noqa: PLW0603  # as above
        _write = None
        _warn(f"cannot write the trace: {error.strerror}")


def _warn(text: str) -> None:
    sys.stderr.write(f"warning: {_visible(text)}\n")


def _audit(name: str, args: tuple[Any, ...]) -> None:
    """Trace an audit event about a process, or about a file of ours."""
    if name == "subprocess.Popen":
        _, argv, cwd, _ = args
        event("start", argv, "in", cwd or ".")
    elif name == "os.posix_spawn":
        event("start", args[1])
    elif name == "open":
        path, _, flags = args
        if _is_ours(path):
            event("write" if (flags or 0) & (os.O_WRONLY | os.O_RDWR) else "read", path)
    elif name == "os.rename" and _is_ours(args[1]):
        event("rename", args[0], "to", args[1])
    elif name == "os.remove" and _is_ours(args[0]):
        event("remove", args[0])


def _is_ours(path: object) -> bool:
    """Whether a file is one of the state, of the configuration or of the plan, and none of the program.

    Records are opened by their names, from the folder that they lie in.
    """
    name = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
    if "blackbird" in name:
        return not name.endswith((".py", ".pyc", ".so"))
    return name.endswith(".json") and "/" not in name


def _line(entry: _Event) -> str:
    moment, what, details = entry
    clock = time.strftime("%H:%M:%S", time.localtime(moment))
    text = " ".join(map(_formatted, details))
    line = f"{clock}.{int(moment % 1 * 1_000_000):06} git-blackbird[{os.getpid()}] {what}: {text}"
    return _visible(line if len(line) <= _MOST_CHARACTERS else f"{line[: _MOST_CHARACTERS - 3]}...")


def _formatted(detail: object) -> str:
    if isinstance(detail, float):
        return f"{detail:.3f} s"
    if isinstance(detail, bytes):
        return os.fsdecode(detail)
    if isinstance(detail, list | tuple):
        from shlex import quote  # only for a trace that is read

        return " ".join(quote(_formatted(word)) for word in detail)
    return str(detail)


def _visible(text: str) -> str:
    """Escape control characters, as Python does."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
