"""The locks of a worktree: to run agents, to write the state, and to commit an approved change."""

import contextlib
import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from git_blackbird import trace
from git_blackbird.errors import LockedError, UnusableError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import Sentence, TaskCommand
from git_blackbird.model.base.system import NO_LOCKS, is_exhausted, make_own_folder, refusal_hint
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.storage.paths import Paths

STORE_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.003
# It has the ids of tasks that were named.
_LONGEST_NOTE = 1_000_000
_TRIES = 10
_WITH_LOCKS = (
    "this file system gives no locks; mount it with them (NFS without its lock service: `local_lock=flock`), "
    "or move the repository to one that has them"
)


class LocksUnsupportedError(UnusableError):
    """The file system does not support locks."""


class Holder(NamedTuple):
    """Who has the controller lock, since when, and what it ``does``; empty until it has noted that."""

    command: str = ""
    pid: int = 0
    since: str = ""
    does: Mapping[str, Any] = MappingProxyType({})

    def __str__(self) -> str:
        return f"{self.words} since {self.since[:19]}Z" if self.command else self.words

    @property
    def words(self) -> str:
        return f"{self.command} (process {self.pid})" if self.command else "a process that is just starting"


@contextlib.contextmanager
def controller_lock(paths: Paths, command: str, since: str, **does: object) -> Iterator[None]:
    """Take the lock for running agents in this worktree; the file names the holder and the time.

    It also has what the holder ``does``. Raises LockedError at once if another
    process has it. The file is not removed: waiting processes would then lock different files.
    """
    path = paths.controller_lock
    with _opened(path) as descriptor:
        if not _lock_soon(descriptor, path):
            raise LockedError(
                f"another git-blackbird is running here: {_holder(descriptor)}",
                hint=Sentence(
                    "wait for it; ", TaskCommand("status"), " says what can be done from here meanwhile"
                ),
            )
        holder = json.dumps({"command": command, "pid": os.getpid(), "since": since, **does})
        _write_holder(descriptor, path, holder)
        yield


def _lock_soon(descriptor: int, path: Path) -> bool:
    """Take the lock, retrying shortly, because a reader only has it for an instant."""
    for _ in range(_TRIES):
        if _try_lock(descriptor, path):
            trace.event("lock", path)
            return True
        time.sleep(_POLL_SECONDS)
    trace.event("held", path, "by", _holder(descriptor))
    return False


def _write_holder(descriptor: int, path: Path, holder: str) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(errors="replace"), 0)
    except OSError as error:
        raise _unusable(path, error) from error


@contextlib.contextmanager
def store_lock(paths: Paths, name: bytes, patience: float = STORE_PATIENCE_SECONDS) -> Iterator[bool]:
    """Take the lock for writing plan and records, for milliseconds; yield whether ``name`` had it last.

    Nobody else has written since then: whoever takes it leaves a name in it first. Raises LockedError.
    """
    path = paths.store_lock
    with _opened(path) as descriptor:
        began = time.monotonic()
        while not _try_lock(descriptor, path):
            if time.monotonic() > began + patience:
                raise LockedError(
                    f"{path} is held by another process",
                    hint="if a git-blackbird hangs, stop it and repeat the command",
                )
            time.sleep(_POLL_SECONDS)
        trace.event("lock", path, "after", time.monotonic() - began)
        is_same = os.pread(descriptor, len(name) + 1, 0) == name
        if not is_same:
            os.ftruncate(descriptor, 0)
            # Without room it stays empty, which is nobody's name.
            with contextlib.suppress(OSError):
                os.pwrite(descriptor, name, 0)
        yield is_same


@contextlib.contextmanager
def approval_lock(paths: Paths, run_id: RunId) -> Iterator[int]:
    """Take the lock for committing an approved change, for as long as the user's hooks run.

    Yields its descriptor, with which a child process inherits the lock. Raises LockedError at once if another
    process has it.
    """
    path = paths.approval_lock
    with _opened(path) as descriptor:
        if not _lock_soon(descriptor, path):
            raise LockedError(
                f"another approval is being committed here: run {_approved_run(descriptor) or 'unknown'}",
                hint="wait for it, then repeat the command",
            )
        _write_holder(descriptor, path, json.dumps({"run": run_id, "pid": os.getpid()}))
        yield descriptor


def approval_in_progress(paths: Paths) -> RunId | None:
    with _open_unlocked(paths.approval_lock) as descriptor:
        return None if descriptor is None else _approved_run(descriptor)


def _approved_run(descriptor: int) -> RunId | None:
    try:
        return RunId(str(json.loads(os.pread(descriptor, 4096, 0))["run"]))
    except (ValueError, KeyError, TypeError):
        return None


def session_lock(
    folder: Path, provider: str, session: str, holder: str
) -> contextlib.AbstractContextManager[None]:
    """Lock a session: if two processes continue the same one, an agent may silently forget one of them.

    Others see ``holder``. The file is removed with the lock. Raises LockedError at once if another process
    has it, UnusableError if the file cannot be written.
    """
    digest = _digest(f"{provider}\0{session}")
    path = folder / f"{provider}-{digest}.lock"
    hint = "wait for it; a copy of a worktree shares its sessions"
    return _named_lock(path, holder, f"session {session} of {provider}", hint)


class TaskLockedError(LockedError): ...


def task_lock(common_dir: Path, task_id: TaskId, holder: str) -> contextlib.AbstractContextManager[None]:
    """Lock a task for all worktrees of a repository, so that it does not start in two of them at once.

    Others see ``holder``. Raises TaskLockedError at once if another process has it, UnusableError if the file
    cannot be written.
    """
    path = _task_locks(common_dir) / f"{_digest(task_id)}.lock"
    return _named_lock(path, holder, f"task {task_id}", "wait for it", TaskLockedError)


def take_slot(folder: Path, count: int, holder: str) -> contextlib.ExitStack:
    """Lock the first free one of so many files of a folder; closing the result frees it.

    Raises LockedError with the holder of the first one where all are taken, UnusableError where the folder
    cannot be used.
    """
    for number in range(count):
        path = folder / f"slot-{number}"
        with contextlib.ExitStack() as held:
            descriptor = held.enter_context(_opened(path))
            if _try_lock(descriptor, path):
                _write_holder(descriptor, path, holder)
                return held.pop_all()
    with _opened(folder / "slot-0") as first:
        raise LockedError(os.pread(first, 4096, 0).decode(errors="replace") or "it is just starting")


def _digest(text: str) -> str:
    from hashlib import sha256  # readers hold neither

    return sha256(text.encode(errors="replace")).hexdigest()[:32]


@contextlib.contextmanager
def _named_lock(
    path: Path, holder: str, what: str, hint: str, refusal: type[LockedError] = LockedError
) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        descriptor = stack.enter_context(_opened(path))
        while (free := _try_lock(descriptor, path)) and not _is_at(path, descriptor):
            # Its last holder has just removed it: only a file that others can find counts.
            descriptor = stack.enter_context(_opened(path))
        if not free:
            content = os.pread(descriptor, 4096, 0).decode(errors="replace")
            raise refusal(f"{what} is in use: {content or 'it is just starting'}", hint=hint)
        stack.callback(path.unlink, missing_ok=True)
        _write_holder(descriptor, path, holder)
        yield


def remove_lock_folders(common_dir: Path, sessions: Path | None) -> None:
    """Remove the folders of locks on tasks and sessions, unless somebody holds one.

    To remove them with each lock, and make them again, takes longer than the locks themselves.
    """
    for folder in (_task_locks(common_dir), sessions):
        if folder is not None:
            with contextlib.suppress(OSError):  # not empty, or not there
                folder.rmdir()
                folder.parent.rmdir()


def _task_locks(common_dir: Path) -> Path:
    return common_dir / "blackbird" / "tasks"


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def controller_holder(paths: Paths) -> Holder | None:
    with _open_unlocked(paths.controller_lock) as descriptor:
        return None if descriptor is None else _holder(descriptor)


@contextlib.contextmanager
def _open_unlocked(path: Path) -> Iterator[int | None]:
    """Open a lock file to read its holder; None if nobody has the lock."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if is_exhausted(error):
            raise
        yield None
        return
    try:
        is_free = True
        with contextlib.suppress(LocksUnsupportedError):
            # A shared lock, so that two readers do not take each other for the holder.
            is_free = _try_lock(descriptor, path, fcntl.LOCK_SH)
        yield None if is_free else descriptor
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
        trace.event("unlock", path)


def _unusable(path: Path, error: OSError) -> UnusableError:
    hint = refusal_hint(error) or "make it writable, then repeat the command"
    return UnusableError(f"cannot write {path}: {error.strerror}", hint=hint)


def _open(path: Path) -> int:
    for _ in range(_TRIES):
        make_own_folder(path.parent)
        # A process that needs the folder no more is removing it right now.
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def _try_lock(descriptor: int, path: Path, kind: int = fcntl.LOCK_EX) -> bool:
    """Take the lock if it is free, and return whether it was. Raises LocksUnsupportedError, UnusableError."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        refusal = LocksUnsupportedError if error.errno in NO_LOCKS else UnusableError
        raise refusal(f"cannot lock {path}: {error.strerror}", hint=_WITH_LOCKS) from error
    return True


def _holder(descriptor: int) -> Holder:
    with contextlib.suppress(ValueError, KeyError, TypeError):
        note = json.loads(os.pread(descriptor, _LONGEST_NOTE, 0))
        parse_timestamp(note["since"])
        return Holder(str(note.pop("command")), int(note.pop("pid")), note.pop("since"), note)
    return Holder()
