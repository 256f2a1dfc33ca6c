"""Replace the user's index by a finished one under git's own lock.

The lock is a hard link to a finished index in a private folder, which its process locks with flock(2) for as
long as it lives. Such a file that nobody locks was left by a killed process of this program; to git it is a
valid index that blocks the way.
"""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository

PATIENCE_SECONDS = 3.0
# The purpose of the private folders with new versions of the user's index.
NEXT = "next"
_POLL_SECONDS = 0.02
_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
)
# The name of a finished index that had to be copied to make the lock.
_COPIED = "copied"
# Those of all worktrees. What is deeper in the folder of objects is no lock.
_LOCKS = ("*", "info/*", "refs/**/*", "worktrees/*/*", "objects/*", "objects/info/**/*", "objects/pack/*")


def require_free_index(repo: Repository) -> None:
    """Wait until no process locks the user's index. Raises UnusableError after a few seconds."""
    lock, deadline = repo.index_lock, time.monotonic() + PATIENCE_SECONDS
    while os.path.lexists(lock):
        _wait(lock, deadline)


def replace_if(repo: Repository, finished: Path, is_current: Callable[[], bool]) -> bool:
    """Replace the user's index by a finished one if ``is_current`` holds under the lock.

    Raises UnusableError if another process locks the index for more than a few seconds, or the git
    directory cannot be written.
    """
    lock = repo.index_lock
    try:
        descriptor = _acquire(lock, finished)
        try:
            if not is_current():
                return False
            os.rename(lock, repo.index)  # noqa: PTH104  # the plain system call, as its name in traces
            return True
        finally:
            # The file is gone if it has replaced the index.
            if is_open_file(lock, descriptor):
                lock.unlink()
            os.close(descriptor)
    except OSError as error:
        message = f"cannot write {repo.index}: {error.strerror}"
        raise UnusableError(message, hint="make room or make it writable") from error


def clear_leftover_lock(repo: Repository) -> None:
    """Remove the index lock of a killed process of this program; leave any other."""
    # Most often there is none. One that cannot be inspected is not ours.
    with contextlib.suppress(OSError), repo.index_lock.open("rb") as file:
        if _is_leftover(repo, file.fileno()):
            repo.index_lock.unlink()


def is_lock_leftover(repo: Repository) -> bool:
    """Whether the index lock is there and ``clear_leftover_lock`` removes it."""
    with contextlib.suppress(OSError), repo.index_lock.open("rb") as file:
        return _is_leftover(repo, file.fileno())
    return False


def _is_leftover(repo: Repository, descriptor: int) -> bool:
    """Whether the open index lock is of a killed process of this program. Raises OSError."""
    lock = repo.index_lock
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finished = repo.private_dir.glob(f"{NEXT}.*/index")
    copied = repo.private_dir.glob(f"{NEXT}.*/{_COPIED}")
    is_ours = any(map(lock.samefile, finished)) or any(
        lock.read_bytes() == path.read_bytes() for path in copied
    )
    return is_ours and is_open_file(lock, descriptor)


def lock_files(repo: Repository) -> list[Path]:
    """List git's locks on its files: indexes, configuration, references, lists of objects."""
    return sorted(path for pattern in _LOCKS for path in repo.common_dir.glob(f"{pattern}.lock"))


def _acquire(lock: Path, finished: Path) -> int:
    """Create git's lock from the finished index; its descriptor is locked as long as its process lives."""
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
    """Create the lock by copying, for file systems without hard links."""
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
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _wait(lock: Path, deadline: float) -> None:
    """Wait a moment for the process that has the lock. Raises UnusableError after the deadline."""
    if time.monotonic() > deadline:
        raise UnusableError(
            f"another git process is running here: {lock} exists",
            hint="wait for it; where no git runs, remove that file",
        )
    time.sleep(_POLL_SECONDS)
