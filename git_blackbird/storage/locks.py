"""The two locks of a worktree: one for who runs agents, one for who writes."""

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.storage.layout import Layout

STORE_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.003
_TRIES = 10


@contextlib.contextmanager
def controller_lock(layout: Layout, command: str, since: str) -> Iterator[None]:
    """Hold the right to run agents in this worktree; the file says who, since when (a timestamp).

    Raises LockedError at once when another process holds it. The file is left behind: removing it would
    split those who wait.
    """
    with _opened(layout, "controller.lock") as descriptor:
        if not _lock_soon(descriptor):
            raise LockedError(
                f"another git-blackbird works here: {_holder(descriptor)}",
                hint="wait for it, or answer it from here with `git blackbird decide`",
            )
        _write_holder(
            descriptor, layout, json.dumps({"command": command, "pid": os.getpid(), "since": since})
        )
        yield


def _lock_soon(descriptor: int) -> bool:
    """Take the lock, or know that someone keeps it: who only asks who holds it lets go at once."""
    for _ in range(_TRIES):
        if _try_lock(descriptor):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _write_holder(descriptor: int, layout: Layout, holder: str) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)
    except OSError as error:
        raise UnusableError(
            f"cannot write {lock_path(layout)}: {error.strerror}", hint="make room"
        ) from error


@contextlib.contextmanager
def store_lock(layout: Layout) -> Iterator[None]:
    """Hold the right to write plan and records; for milliseconds, never while an agent or a person thinks.

    Raises LockedError when it cannot be had within 30 seconds.
    """
    with _opened(layout, "store.lock") as descriptor:
        deadline = time.monotonic() + STORE_PATIENCE_SECONDS
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise LockedError(
                    f"{layout.private / 'store.lock'} is held by another process",
                    hint="a git-blackbird that hangs? stop it and repeat the command",
                )
            time.sleep(_POLL_SECONDS)
        yield


def controller_holder(layout: Layout) -> str | None:
    """Say who holds the controller lock; None when nobody does."""
    path = layout.private / "controller.lock"
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # A shared lock, so that two who ask do not take each other for the holder.
        return None if _try_lock(descriptor, fcntl.LOCK_SH) else _holder(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened(layout: Layout, name: str) -> Iterator[int]:
    path = layout.private / name
    try:
        layout.private.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UnusableError(f"cannot write {path}: {error.strerror}", hint="make it writable") from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return f"{said['command']} (process {said['pid']}) since {str(said['since'])[:19]}Z"
    except (ValueError, KeyError, TypeError):
        return "a process that is just starting"


def lock_path(layout: Layout) -> Path:
    """Give the controller lock's file, for messages."""
    return layout.private / "controller.lock"
