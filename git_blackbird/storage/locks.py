"""The locks of a worktree: for who runs agents, for who writes, for who commits what was approved."""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.model.ids import RunId
from git_blackbird.model.system_faults import is_exhausted, refusal_hint
from git_blackbird.storage.layout import Layout

STORE_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.003
_TRIES = 10
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})
_WITH_LOCKS = (
    "this file system gives no locks; mount it with them (NFS without its lock service: `local_lock=flock`), "
    "or move the repository to one that has them"
)


class LocksUnsupportedError(UnusableError):
    """The file system knows no locks: nobody can hold one there."""


@contextlib.contextmanager
def controller_lock(layout: Layout, command: str, since: str) -> Iterator[None]:
    """Hold the right to run agents in this worktree; the file says who, since when (a timestamp).

    Raises LockedError at once when another process holds it. The file is left behind: removing it would
    split those who wait.
    """
    path = lock_path(layout)
    with _opened(path) as descriptor:
        if not _lock_soon(descriptor, path):
            raise LockedError(
                f"another git-blackbird is running here: {_holder(descriptor)}",
                hint="wait for it, or answer it from here with `git blackbird decide`",
            )
        holder = json.dumps({"command": command, "pid": os.getpid(), "since": since})
        _write_holder(descriptor, path, holder)
        yield


def _lock_soon(descriptor: int, path: Path) -> bool:
    """Take the lock, or know that someone keeps it: who only asks who holds it lets go at once."""
    for _ in range(_TRIES):
        if _try_lock(descriptor, path):
            return True
        time.sleep(_POLL_SECONDS)
    return False


def _write_holder(descriptor: int, path: Path, holder: str) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(errors="replace"), 0)
    except OSError as error:
        raise _unusable(path, error) from error


@contextlib.contextmanager
def store_lock(layout: Layout, patience: float = STORE_PATIENCE_SECONDS) -> Iterator[None]:
    """Hold the right to write plan and records; for milliseconds, never while an agent or a person thinks.

    Raises LockedError when it cannot be had within ``patience`` seconds.
    """
    path = layout.private / "store.lock"
    with _opened(path) as descriptor:
        deadline = time.monotonic() + patience
        while not _try_lock(descriptor, path):
            if time.monotonic() > deadline:
                raise LockedError(
                    f"{path} is held by another process",
                    hint="if a git-blackbird hangs, stop it and repeat the command",
                )
            time.sleep(_POLL_SECONDS)
        yield


@contextlib.contextmanager
def approval_lock(layout: Layout, run_id: RunId) -> Iterator[int]:
    """Hold the right to commit an approved change in this worktree, for as long as the user's hooks take.

    Gives the descriptor that holds it: who is handed that holds the right as well. Raises LockedError at
    once when another process holds it.
    """
    path = _approval_path(layout)
    with _opened(path) as descriptor:
        if not _lock_soon(descriptor, path):
            raise LockedError(
                f"another approval is being committed here: run {_approved_run(descriptor) or 'unknown'}",
                hint="wait for it, then repeat the command",
            )
        _write_holder(descriptor, path, json.dumps({"run": run_id, "pid": os.getpid()}))
        yield descriptor


def run_being_approved(layout: Layout) -> RunId | None:
    """Name the run whose approval is being committed right now."""
    with _looked_at(_approval_path(layout)) as descriptor:
        return None if descriptor is None else _approved_run(descriptor)


def _approval_path(layout: Layout) -> Path:
    return layout.private / "approval.lock"


def _approved_run(descriptor: int) -> RunId | None:
    try:
        return RunId(str(json.loads(os.pread(descriptor, 4096, 0))["run"]))
    except (ValueError, KeyError, TypeError):
        return None


class Session(NamedTuple):
    """A conversation with a provider, which knows it by ``name``."""

    provider: str
    name: str


@contextlib.contextmanager
def session_lock(folder: Path, session: Session, holder: str) -> Iterator[None]:
    """Hold a session: of two that go on in one at the same time, an agent may silently forget one.

    ``holder`` is what others are told. The file goes away with the lock. Raises LockedError at once when
    another process holds it, UnusableError when the file cannot be written.
    """
    from hashlib import sha256  # noqa: PLC0415  # readers hold no session

    digest = sha256(f"{session.provider}\0{session.name}".encode(errors="replace")).hexdigest()
    path = folder / f"{session.provider}-{digest[:32]}.lock"
    with contextlib.ExitStack() as stack:
        descriptor = stack.enter_context(_opened(path))
        while (free := _try_lock(descriptor, path)) and not _is_at(path, descriptor):
            # Its last holder removed it just now: what counts is the file that others find.
            descriptor = stack.enter_context(_opened(path))
        if not free:
            said = os.pread(descriptor, 4096, 0).decode(errors="replace")
            raise LockedError(
                f"session {session.name} of {session.provider} is in use: {said or 'it is just starting'}",
                hint="wait for it; a copy of a worktree shares its sessions",
            )
        stack.callback(_remove, path)
        _write_holder(descriptor, path, holder)
        yield


def _remove(path: Path) -> None:
    """Remove a session's lock, and its folders where nothing else is kept in them."""
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something is
        path.parent.rmdir()
        path.parent.parent.rmdir()


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def controller_holder(layout: Layout) -> str | None:
    """Say who holds the controller lock; None when nobody does."""
    with _looked_at(lock_path(layout)) as descriptor:
        return None if descriptor is None else _holder(descriptor)


@contextlib.contextmanager
def _looked_at(path: Path) -> Iterator[int | None]:
    """Open a lock's file to read who holds it; None when nobody does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if is_exhausted(error):
            raise
        yield None
        return
    try:
        yield descriptor if _is_held(descriptor, path) else None
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = _open(path)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _unusable(path: Path, error: OSError) -> UnusableError:
    hint = refusal_hint(error) or "make it writable, then repeat the command"
    return UnusableError(f"cannot write {path}: {error.strerror}", hint=hint)


def _open(path: Path) -> int:
    for _ in range(_TRIES):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Who lets a session go may be removing the folder just now.
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _try_lock(descriptor: int, path: Path, kind: int = fcntl.LOCK_EX) -> bool:
    """Take the lock if nobody holds it.

    Raises LocksUnsupportedError, and UnusableError when it is refused for another reason.
    """
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        refusal = LocksUnsupportedError if error.errno in _UNSUPPORTED else UnusableError
        raise refusal(f"cannot lock {path}: {error.strerror}", hint=_WITH_LOCKS) from error
    return True


def _is_held(descriptor: int, path: Path) -> bool:
    try:
        # A shared lock, so that two who ask do not take each other for the holder.
        return not _try_lock(descriptor, path, fcntl.LOCK_SH)
    except LocksUnsupportedError:
        return False


def _holder(descriptor: int) -> str:
    try:
        said = json.loads(os.pread(descriptor, 4096, 0))
        return f"{said['command']} (process {said['pid']}) since {str(said['since'])[:19]}Z"
    except (ValueError, KeyError, TypeError):
        return "a process that is just starting"


def lock_path(layout: Layout) -> Path:
    """Give the controller lock's file, for messages."""
    return layout.private / "controller.lock"
