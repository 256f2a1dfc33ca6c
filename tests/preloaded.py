"""``subprocess.run`` and ``Popen`` for the program: it is forked from an interpreter that has loaded it.

What is started is a process of its own in every way (``tests/preloader.py``), for a tenth of the time. All
other commands are started as ever, and so is the program where it needs another interpreter: with a function
to be called before it, with other variables for Python or the locale, or with BLACKBIRD_COLD_START.
"""

import atexit
import fcntl
import inspect
import marshal
import os
import select
import shlex
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = (sys.executable, "-m", "git_blackbird")
# The two files of the package that are started, and the scheduler of a cluster.
MAIN, HOOK, SCHEDULER = "__main__.py", "hook.py", "distributed.cli.dask_scheduler"
SCREEN = "git_blackbird.tui"
HOOK_PROGRAM = (sys.executable, "-I", str(ROOT / "git_blackbird" / HOOK))
SCHEDULER_PROGRAM = (sys.executable, "-m", SCHEDULER)
_KINDS: dict[tuple[str, ...], str] = {PROGRAM: MAIN, HOOK_PROGRAM: HOOK, SCHEDULER_PROGRAM: SCHEDULER}
# The length of a request; the id of a process, and its exit code.
LENGTH = struct.Struct("!I")
NUMBER = struct.Struct("!i")
_IS_COLD = bool(os.environ.get("BLACKBIRD_COLD_START"))
_FOR_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_", "DYLD_")
# These a new process has by default, whoever starts it.
_RESTORED = {signal.SIGPIPE, signal.SIGXFSZ}
_NAMES = tuple(inspect.signature(subprocess.Popen._execute_child).parameters)  # type: ignore[attr-defined]
_one_at_a_time = threading.Lock()
T = TypeVar("T")


def _interpreter_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that an interpreter starts with; without a path it finds the same package."""
    given = {name: text for name, text in environ.items() if text and name.startswith(_FOR_THE_INTERPRETER)}
    return {"PYTHONPATH": str(ROOT), **given}


_ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}
_ENVIRON.pop("PYTHONDONTWRITEBYTECODE", None)
_VARIABLES = _interpreter_variables(_ENVIRON)


@cache
def _listener_path(library: str) -> Path:
    """Return where the server takes requests of those that this process does not start itself."""
    return Path(tempfile.mkdtemp(prefix=f"listener-{library[:1]}")) / "socket"


@cache
def _server(library: str) -> socket.socket:
    """Return the socket that takes requests, of a server that this process starts once for each library."""
    ours, theirs = socket.socketpair()
    with theirs, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(_listener_path(library)))
        listener.listen()
        passed = theirs.fileno(), listener.fileno()
        command = (sys.executable, "-m", "tests.preloader", *map(str, passed), *filter(None, [library]))
        server = subprocess.Popen(command, env=_ENVIRON, pass_fds=passed, stdin=subprocess.DEVNULL)
    atexit.register(server.wait)
    atexit.register(ours.close)
    return ours


def _request(wanted: dict[str, Any], descriptors: Sequence[int], library: str) -> None:
    body = marshal.dumps(wanted)
    with _one_at_a_time:
        server = _server(library)
        socket.send_fds(server, [LENGTH.pack(len(body))], descriptors)
        server.sendall(body)


class Popen(subprocess.Popen[Any]):
    """A ``subprocess.Popen``, of a forked program where it can be one."""

    is_on_terminal = False
    library = ""
    _told: socket.socket | None = None

    def _execute_child(self, *args: Any) -> None:
        """Start the program: the one place in which ``subprocess`` does so."""
        named = dict(zip(_NAMES, (self, *args), strict=True))
        given = os.environ if named["env"] is None else named["env"]
        environ = {os.fsdecode(name): os.fsdecode(text) for name, text in given.items()}
        words = [os.fsdecode(word) for word in named["args"]]
        kind = _KINDS.get(tuple(words[: len(PROGRAM)]))
        is_ours = kind is not None and not named["preexec_fn"]
        if _IS_COLD or not is_ours or _interpreter_variables(environ) != _VARIABLES:
            if self.is_on_terminal:
                named |= {"preexec_fn": _take_terminal, "start_new_session": True}
            super()._execute_child(*list(named.values())[1:])  # type: ignore[misc]
            return
        wanted = {
            "kind": kind,
            "args": words[len(PROGRAM) :],
            "cwd": os.fsdecode(named["cwd"] or Path.cwd()),
            "environ": environ,
            "umask": _umask(),
            "ignored": _ignored_signals(),
            "is_session": named["start_new_session"] or self.is_on_terminal,
            "is_terminal": self.is_on_terminal,
            "process_group": named["process_group"],
        }
        streams = [
            number if pipe == -1 else pipe
            for number, pipe in enumerate((named["p2cread"], named["c2pwrite"], named["errwrite"]))
        ]
        self._told, theirs = socket.socketpair()
        with theirs:
            _request(wanted, [*streams, theirs.fileno()], self.library)
        self.pid = self._number()
        self._child_created = True
        self._close_pipe_fds(  # type: ignore[attr-defined]
            *(named[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite"))
        )

    def _number(self) -> int:
        assert self._told is not None
        told = self._told.recv(NUMBER.size, socket.MSG_WAITALL)
        assert told, "the server of preloaded programs has ended"
        number: int = NUMBER.unpack(told)[0]
        return number

    def poll(self) -> int | None:
        return super().poll() if self._told is None else self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        if self._told is None:
            return super().wait(timeout)
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def _ended(self, timeout: float | None) -> int | None:
        """Return the exit code, once it is there; None where it is not within these seconds."""
        assert self._told is not None
        if self.returncode is None and select.select([self._told], [], [], timeout)[0]:
            self.returncode = self._number()
            self._told.close()
        return self.returncode


def write_command(path: Path, library: str = "") -> None:
    """Make a command that is the program, for others to start; its terminal does not control it."""
    _write_script(path, f'PYTHONPATH={ROOT} exec {_forking(MAIN, PROGRAM, library)} "$@"')


def preload_hook(repo: Path) -> None:
    """Let the hook of a repository start a forked Python; its file is edited for it."""
    python = _listener_path("").with_name("python")
    _write_script(python, f'shift 2; exec {_forking(HOOK, HOOK_PROGRAM)} "$@"')
    hook = repo / ".git/hooks/post-commit"
    hook.write_text(hook.read_text().replace(sys.executable, str(python)))


def _forking(kind: str, cold: Sequence[str], library: str = "") -> str:
    """Return the words of a shell that start a file of the package."""
    _server(library)
    forked = (sys.executable, "-IS", str(ROOT / "tests/forked.py"), str(_listener_path(library)), kind)
    return shlex.join(cold if _IS_COLD else forked)


def _write_script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


class WithDask(Popen):
    """A program that has Dask loaded as well: a scheduler, or one that uses it."""

    library = SCHEDULER


class OnTerminal(Popen):
    """A program whose standard input is its controlling terminal."""

    is_on_terminal = True


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _ignored_signals() -> list[int]:
    every = signal.valid_signals() - _RESTORED
    return [int(number) for number in every if signal.getsignal(number) == signal.SIG_IGN]


def _typed_as(model: T) -> Callable[[Callable[..., Any]], T]:
    """Give a function the signature of another."""

    def typed(function: Callable[..., Any]) -> T:
        return cast("T", function)

    return typed


@_typed_as(subprocess.run)
def run(
    args: Any,
    *,
    input: Any = None,  # noqa: A002  # its name is given
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """Run a command as ``subprocess.run`` does."""
    if input is not None:
        more["stdin"] = subprocess.PIPE
    if capture_output:
        more |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(args, **more) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, args, out, err)
    return subprocess.CompletedProcess(args, process.returncode, out, err)
