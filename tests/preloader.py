"""Forks the program from an interpreter that has loaded it, for two sockets of requests.

To load the program takes ten times as long as most of what it then does. A fork is a process of its own, with
its own arguments, environment, folder, streams, signals and terminal; only its imports, and the building of
models that pydantic puts off, are behind it. The arguments ``DESCRIPTOR LISTENER`` are one end of a socket
from which requests come (``tests/preloaded.py``; the server ends when the other end is closed), and a socket
to which others connect (``tests/forked.py``). More arguments are libraries to be loaded as well.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pygit2
from pydantic import BaseModel
from pygit2.enums import ConfigLevel

import git_blackbird
from git_blackbird.cli.main import run
from tests.preloaded import HOOK, LENGTH, NUMBER, SCHEDULER, SCREEN

# Standard input, output and error, and the socket on which its id and its end are told.
DESCRIPTORS = 4
# The screen is heavy, and few open it. The others do their work when they are imported.
_LEFT_OUT = ("git_blackbird.tui", "git_blackbird.__main__", "git_blackbird.hook")
# What is imported when it is used: by the program, by libraries, and by pydantic for its first adapter.
_LOADED_LATE = (
    *("click.shell_completion", "defusedxml.ElementTree", "difflib", "prompt_toolkit.input.vt100"),
    *("psutil", "pydantic.dataclasses"),
)
_MAPS, _HUGE, _COLLAPSE = Path("/proc/self/maps"), 2 * 1024 * 1024, 25
_STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


@dataclass
class Request:
    """One program to be started, and its descriptors."""

    wanted: dict[str, Any]
    descriptors: list[int]


@dataclass
class Server:
    """The sockets of requests, and the programs that run, each with the socket on which its end is told."""

    channel: socket.socket
    listener: socket.socket
    running: dict[int, socket.socket] = field(default_factory=dict)

    def serve(self) -> Request | None:
        """Serve requests until there are no more; in the fork, return the request that it is for."""
        waker, wakened = socket.socketpair()
        waker.setblocking(False)
        wakened.setblocking(False)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self.channel, selectors.EVENT_READ)
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(wakened, selectors.EVENT_READ)
            while True:
                ready = {key.fileobj for key, _ in selector.select()}
                if wakened in ready:
                    with contextlib.suppress(BlockingIOError):
                        wakened.recv(4096)
                    self._tell_of_ended()
                if self.listener in ready and (request := accept(self.listener)) and self._is_fork(request):
                    return request
                if self.channel in ready:
                    request = receive(self.channel)
                    if request is None:
                        sys.exit()
                    if self._is_fork(request):
                        return request

    def _is_fork(self, request: Request) -> bool:
        *streams, told = request.descriptors
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            return True
        for descriptor in streams:
            os.close(descriptor)
        self.running[pid] = socket.socket(fileno=told)
        return False

    def _tell_of_ended(self) -> None:
        for pid in list(self.running):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with (
                    self.running.pop(pid) as told,
                    contextlib.suppress(OSError),
                ):  # nobody waits for it any more
                    told.sendall(NUMBER.pack(os.waitstatus_to_exitcode(status)))


def receive(channel: socket.socket) -> Request | None:
    """Read a request; None when there are no more."""
    head, descriptors, _, _ = socket.recv_fds(channel, LENGTH.size, DESCRIPTORS)
    if not head:
        return None
    (length,) = LENGTH.unpack(head)
    with channel.makefile("rb", buffering=0) as stream:
        body = b""
        while len(body) < length:
            body += stream.read(length - len(body))
    return Request(marshal.loads(body), descriptors)


def accept(listener: socket.socket) -> Request | None:
    """Read the request of a new connection, on which its end is told as well."""
    connection, _ = listener.accept()
    with connection:
        request = receive(connection)
        if request is not None:
            request.descriptors.append(os.dup(connection.fileno()))
    return request


def load_program(libraries: Sequence[str]) -> None:
    _load_package(git_blackbird, _LEFT_OUT)
    for name in (*_LOADED_LATE, *libraries):
        library = importlib.import_module(name)
        if name == SCREEN:
            _load_package(library)
    _build_models(BaseModel)


def _load_package(package: ModuleType, left_out: tuple[str, ...] = ()) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(left_out):
            importlib.import_module(module.name)


def _build_models(base: type[BaseModel]) -> None:
    """Build what a model puts off to its first use: this takes longer than what most commands do then."""
    for model in base.__subclasses__():
        if model.__module__.startswith("git_blackbird."):
            model.model_rebuild()
        _build_models(model)


def become(request: Request) -> None:
    """Make this process what a new one would be that was started so."""
    wanted = request.wanted
    if wanted["is_session"] or wanted["is_terminal"]:
        os.setsid()
    if wanted["process_group"] >= 0:
        os.setpgid(0, wanted["process_group"])
    *streams, told = request.descriptors
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    # As with other new processes, who started it hears of it when it is in its group or session.
    os.write(told, NUMBER.pack(os.getpid()))
    os.closerange(len(_STREAMS), os.sysconf("SC_OPEN_MAX"))
    if wanted["is_terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(wanted["cwd"])
    os.umask(wanted["umask"])
    os.environ.clear()
    os.environ.update(wanted["environ"])
    time.tzset()
    sys.argv[:] = [str(Path(git_blackbird.__file__).with_name(wanted["kind"])), *wanted["args"]]
    sys.path[0] = wanted["cwd"]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in wanted["ignored"]:
        signal.signal(number, signal.SIG_IGN)
    _open_streams()
    for level in (ConfigLevel.SYSTEM, ConfigLevel.GLOBAL, ConfigLevel.XDG):
        # Looked up in the environment again.
        pygit2.settings.search_path[level] = None  # type: ignore[assignment]


def _open_streams() -> None:
    for number, (name, mode) in enumerate(_STREAMS):
        before = getattr(sys, name)
        stream = io.TextIOWrapper(
            open(number, f"{mode}b", closefd=False),  # noqa: SIM115  # open as long as the process is
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=name == "stderr" or os.isatty(number),
            write_through=before.write_through,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def end(code: object) -> NoReturn:
    """End as the interpreter does, but take no module apart: that takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 1)


def use_huge_pages() -> None:
    """Ask for huge pages for what is loaded, where the system has them: a fork is then twice as fast."""
    libc = ctypes.CDLL(None)
    for line in _MAPS.read_text().splitlines() if _MAPS.exists() else ():
        place, rights, _, _, inode, *_ = line.split()
        if rights == "rw-p" and inode == "0":
            first, last = (int(part, 16) for part in place.split("-"))
            begin, end = -(-first // _HUGE) * _HUGE, last // _HUGE * _HUGE
            if begin < end:
                # It is a request, which any system may refuse.
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _COLLAPSE)


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    listener = socket.socket(fileno=int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_program(sys.argv[3:])
    gc.collect()
    gc.freeze()
    use_huge_pages()
    request = Server(channel, listener).serve()
    if request is None:
        return
    become(request)
    try:
        if "dask" in sys.modules:
            # Its configuration is read from the environment when it is loaded.
            sys.modules["dask"].config.refresh()
        if request.wanted["kind"] == HOOK:
            runpy.run_path(sys.argv[0], run_name="__main__")
            sys.exit()
        if request.wanted["kind"] == SCHEDULER:
            sys.modules[SCHEDULER].main()
        run()
    except SystemExit as ending:
        end(ending.code or 0)


if __name__ == "__main__":
    main()
