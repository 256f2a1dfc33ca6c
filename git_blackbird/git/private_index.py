"""A copy of the user's index to work with, and the moment in which it takes the index's place."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.repository import Repository

# For git commands of our own on an index: the repository's own programs do not run for them, except the
# filters that make content; and a file that core.safecrlf would keep out of a commit is there all the same.
QUIET = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.splitIndex=false",
    "-c",
    "core.safecrlf=false",
)
PATIENCE_SECONDS = 3.0
_STALE_SECONDS = 24 * 3600
_LOOK_SECONDS = 0.02
# So that a lock left by a killed process can be told from one of git's.
_MARK = b"git-blackbird\n"


class IndexLockedError(UnusableError):
    """Another git process has the index of this worktree."""


@contextlib.contextmanager
def private_index(repo: Repository, purpose: str) -> Iterator[Path]:
    """Copy the user's index with its time, without which edits of the same second and size are missed.

    It lies in a folder of its own, for whatever belongs to ``purpose``, and goes away with the block.
    """
    with private_folder(repo, purpose) as folder:
        index = folder / "index"
        _copy_index(user_index(repo), index)
        yield index


@contextlib.contextmanager
def private_folder(repo: Repository, purpose: str) -> Iterator[Path]:
    """Give an empty folder in the git directory, which goes away with the block."""
    repo.private_dir.mkdir(parents=True, exist_ok=True)
    _sweep(repo.private_dir, purpose)
    with tempfile.TemporaryDirectory(
        prefix=f"{purpose}.", dir=repo.private_dir, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def user_index(repo: Repository) -> Path:
    """Give the place of the index that belongs to the worktree; it may not exist yet."""
    return repo.git_dir / "index"


@contextlib.contextmanager
def held_index(repo: Repository) -> Iterator[None]:
    """Keep every git process from writing the user's index, as they keep each other: for milliseconds.

    Raises IndexLockedError when another keeps it for longer than a few seconds.
    """
    lock = _lock_of(repo)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _made(lock):
        if time.monotonic() > deadline:
            raise IndexLockedError(
                f"another git process is at work here: {lock} exists",
                hint="wait for it; where no git runs, remove that file",
            )
        time.sleep(_LOOK_SECONDS)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def install_index(repo: Repository, index: Path) -> None:
    """Let a changed private copy take the place of the user's index, which must be held."""
    index.replace(user_index(repo))


def is_abandoned(repo: Repository) -> bool:
    """Whether the lock on the index is one of this program's; where none is at work, a killed one left it."""
    with contextlib.suppress(FileNotFoundError):
        return _lock_of(repo).read_bytes() == _MARK
    return False


def release_abandoned(repo: Repository) -> None:
    """Remove a lock on the index that a killed process of this program left; only when none is at work."""
    if is_abandoned(repo):
        _lock_of(repo).unlink(missing_ok=True)


def _lock_of(repo: Repository) -> Path:
    return user_index(repo).with_name("index.lock")


def _made(lock: Path) -> bool:
    try:
        with lock.open("xb") as file:
            file.write(_MARK)
    except FileExistsError:
        return False
    except OSError as error:
        raise IndexLockedError(f"cannot write {lock}: {error.strerror}", hint="make it writable") from error
    return True


def _copy_index(source: Path, target: Path) -> None:
    try:
        with source.open("rb") as before, target.open("xb") as after:
            shutil.copyfileobj(before, after)
            # Of the open file: the index may have been replaced since, and a later time would hide edits.
            status = os.fstat(before.fileno())
    except FileNotFoundError:
        if source.exists():
            raise
        return
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _sweep(private_dir: Path, purpose: str) -> None:
    """Remove what killed processes left behind."""
    for folder in private_dir.glob(f"{purpose}.*"):
        with contextlib.suppress(FileNotFoundError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
