"""Numbers the steps by which the program changes what is on disk, and kills it or fails at one of them.

Loaded by every Python that is started with this folder on its path; only the program itself, the process
that makes its commits, and its hook are affected. A step is a call of the operating system that creates,
renames, links, removes, locks, writes or makes durable a file of the repository, a write of an object, or the
start of a process that does so. The environment says what to do:

    CRASH_TOP    the folder of the repository, and of worktrees beside it
    CRASH_TRACE  a file that gets a line of ``WIDTH`` bytes for each step
    CRASH_AT     ``kill:N`` or ``fail:N``; not set, steps are only numbered
"""

import errno
import fcntl
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable
from typing import Any

WIDTH = 200
_WORKER = "git_blackbird.git.commit.create"
_PROGRAMS = ("git_blackbird", "git_blackbird.cli.main")
_FAULTS = {"fcntl.flock": errno.ENOLCK, "os.fsync": errno.EIO, "os.remove": errno.EIO, "os.rmdir": errno.EIO}
_START_FAULT = errno.EAGAIN
# The commands of git that change something, as the program calls them.
_CHANGING = frozenset(
    {
        *("checkout-index", "commit", "merge-tree", "read-tree", "update-index", "update-ref", "worktree"),
        "write-tree",
    }
)
_PATHS = frozenset(
    {"os.chmod", "os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.symlink", "os.utime"}
)


class Steps:
    """The steps of one process, numbered together with those of the processes beside it."""

    def __init__(self) -> None:
        self.top = os.environ["CRASH_TOP"]
        self.mode, _, number = os.environ.get("CRASH_AT", ":0").partition(":")
        self.at = int(number or 0)
        self.is_worker = any(_WORKER in word for word in sys.orig_argv)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self.trace = os.open(os.environ["CRASH_TRACE"], flags, 0o600)
        self.write = os.write
        self.lock = threading.Lock()

    def take(self, kind: str, what: object) -> None:
        """Count a step that is about to be made; the one that is asked for is the last, or fails."""
        line = f"{'worker' if self.is_worker else 'main'} {kind} {what}".encode(errors="replace")
        with self.lock:
            self.write(self.trace, line.replace(b"\n", b" ")[: WIDTH - 1].ljust(WIDTH - 1) + b"\n")
            number = os.lseek(self.trace, 0, os.SEEK_CUR) // WIDTH
        if number == self.at:
            self.strike(kind, what)

    def strike(self, kind: str, what: object) -> None:
        if self.mode == "kill":
            if self.is_worker:
                os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        code = _FAULTS.get(kind, errno.ENOSPC if kind != "start" else _START_FAULT)
        raise OSError(code, os.strerror(code), str(what))

    def watch(self, event: str, args: tuple[Any, ...]) -> None:
        """Hear of the interpreter's own audit events."""
        if event in _PATHS and self.is_within(args[0], folder := args[2 if event == "os.rename" else -1]):
            full = self.full_name(args[0], folder)
            if event != "os.mkdir" or not os.path.lexists(full):  # what is there stays
                self.take(event, full)
        elif event == "open" and args[2] & (os.O_CREAT | os.O_TRUNC) and self.is_within(args[0], -1):
            self.take(event, os.fsdecode(args[0]))
        elif event == "fcntl.flock" and not args[1] & fcntl.LOCK_UN:
            self.take(event, self.name_of(args[0]))
        elif event == "subprocess.Popen" and _changes([os.fsdecode(word) for word in args[1]]):
            self.take("start", " ".join(map(os.fsdecode, args[1])).replace(self.top, ""))

    def is_within(self, path: object, folder: object) -> bool:
        """Whether a path lies in the repository; relative ones may be meant from an open folder."""
        if not isinstance(path, str | bytes):
            return False
        full = self.full_name(path, folder)
        return full.startswith(f"{self.top}/") and "__pycache__" not in full

    def full_name(self, path: str | bytes, folder: object) -> str:
        name = os.fsdecode(path)
        if name.startswith("/"):
            return name
        above = self.name_of(folder) if isinstance(folder, int) and folder >= 0 else os.path.curdir
        return os.path.realpath(f"{above}/{name}")

    def name_of(self, descriptor: int) -> str:
        return os.path.realpath(f"/proc/self/fd/{descriptor}")

    def on_file(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls on descriptors of regular files and folders of the repository."""

        def counted(descriptor: int, *args: Any) -> Any:
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                name = self.name_of(descriptor)
                if name == self.top or name.startswith(f"{self.top}/"):
                    self.take(kind, name)
            return call(descriptor, *args)

        return counted


def _changes(words: list[str]) -> bool:
    if words[0] != "git":
        return True
    return any(word in _CHANGING for word in words[1:])


def _is_affected() -> bool:
    words = sys.orig_argv
    if any(_WORKER in word for word in words) or any(
        word.endswith("git_blackbird/hook.py") for word in words
    ):
        return True
    return "-m" in words and words[words.index("-m") + 1] in _PROGRAMS


def _begin() -> None:
    import pygit2  # only where it is counted

    steps = Steps()
    os.fsync = steps.on_file("os.fsync", os.fsync)
    os.write = steps.on_file("os.write", os.write)
    os.pwrite = steps.on_file("os.pwrite", os.pwrite)
    os.ftruncate = steps.on_file("os.ftruncate", os.ftruncate)
    save: Callable[..., Any] = pygit2.Repository.write

    def counted(repository: object, *args: Any) -> Any:
        steps.take("object", args[0])
        return save(repository, *args)

    pygit2.Repository.write = counted  # type: ignore[assignment, method-assign]
    sys.addaudithook(steps.watch)


if "CRASH_TRACE" in os.environ and _is_affected():
    _begin()
