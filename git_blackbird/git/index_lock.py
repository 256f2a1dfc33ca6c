"""Git's lock on the user's index: taken for two system calls, and cleared where a kill came between them.

The lock is a hard link to a finished index in a private folder, which its process keeps locked by flock(2)
as long as it is alive. A lock that is such a file, and that nobody keeps, was left by a killed process of
this program; a git that meets it sees a valid index in a file that is in its way.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.repository import Repository

PATIENCE_SECONDS = 3.0
NEXT = "next"
"""The purpose of the private folders that hold what is to become the user's index."""

_LOOK_SECONDS = 0.02
_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
)
# The name of a finished index whose lock had to be a copy.
_COPIED = "copied"


class IndexLockedError(UnusableError):
    """Another git process has the index of this worktree, or it cannot be written."""


def user_index(repo: Repository) -> Path:
    """Give the place of the index that belongs to the worktree; it may not exist yet."""
    return repo.git_dir / "index"


def lock_of(repo: Repository) -> Path:
    """Give the place of git's lock on that index."""
    return repo.git_dir / "index.lock"


def require_free_index(repo: Repository) -> None:
    """Wait until no process holds the user's index.

    Raises IndexLockedError when one holds it for longer than a few seconds.
    """
    lock, deadline = lock_of(repo), time.monotonic() + PATIENCE_SECONDS
    while os.path.lexists(lock):
        _wait(lock, deadline)


def replace_if(repo: Repository, finished: Path, is_current: Callable[[], bool]) -> bool:
    """Let a finished index take the place of the user's, if ``is_current`` holds while nobody can change it.

    Raises IndexLockedError when another process holds the index for longer than a few seconds, or when the
    git directory cannot be written.
    """
    lock = lock_of(repo)
    try:
        with _held(lock, finished):
            if not is_current():
                return False
            os.rename(lock, user_index(repo))  # noqa: PTH104  # the plain system call, as its name in traces
            return True
    except OSError as error:
        message = f"cannot write {user_index(repo)}: {error.strerror}"
        raise IndexLockedError(message, hint="make room or make it writable") from error


def clear_leftover_lock(repo: Repository) -> None:
    """Remove the lock on the index that a killed process of this program left; any other stays."""
    lock = lock_of(repo)
    # Most often there is none. One that cannot be looked at is not ours to remove.
    with contextlib.suppress(OSError), lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_ours(repo, lock) and is_open_file(lock, file.fileno()):
            lock.unlink()


def _is_ours(repo: Repository, lock: Path) -> bool:
    finished = repo.private_dir.glob(f"{NEXT}.*/index")
    copied = repo.private_dir.glob(f"{NEXT}.*/{_COPIED}")
    return any(map(lock.samefile, finished)) or any(lock.read_bytes() == path.read_bytes() for path in copied)


@contextlib.contextmanager
def _held(lock: Path, finished: Path) -> Iterator[None]:
    """Hold git's lock in the block; its file is the finished index, which may become the user's."""
    descriptor = _acquire(lock, finished)
    try:
        yield
    finally:
        # It is gone where it has become the index.
        if is_open_file(lock, descriptor):
            lock.unlink()
        os.close(descriptor)


def _acquire(lock: Path, finished: Path) -> int:
    """Make the lock and give its descriptor, which tells others that its process is alive."""
    make, deadline = _link, time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return make(lock, finished)
        except FileExistsError:
            _wait(lock, deadline)
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS or make is _copy:
                raise
            make, finished = _copy, finished.rename(finished.with_name(_COPIED))


def _link(lock: Path, finished: Path) -> int:
    descriptor = os.open(finished, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.link(finished, lock)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _copy(lock: Path, finished: Path) -> int:
    """Make the lock where the file system knows no hard links."""
    descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(finished.read_bytes())
    except BaseException:
        lock.unlink()
        os.close(descriptor)
        raise
    return descriptor


def is_open_file(path: Path, descriptor: int) -> bool:
    """Whether the file that is open still lies there."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _wait(lock: Path, deadline: float) -> None:
    """Wait a moment for whoever holds the lock. Raises IndexLockedError when it is too late for that."""
    if time.monotonic() > deadline:
        raise IndexLockedError(
            f"another git process is running here: {lock} exists",
            hint="wait for it; where no git runs, remove that file",
        )
    time.sleep(_LOOK_SECONDS)
