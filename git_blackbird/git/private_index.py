"""Copies of the user's index to work with, and replacing the index by one."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.index_lock import (
    NEXT,
    IndexLockedError,
    clear_leftover_lock,
    replace_if,
    user_index,
)
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
_STALE_SECONDS = 24 * 3600
_TRIES = 5
# Git ends an index with a checksum of what is in it.
_CHECKSUM_BYTES = 20


class _Seen(NamedTuple):
    """What tells one index file from another that took its place."""

    device: int
    inode: int
    mtime_ns: int
    size: int
    checksum: bytes


@contextlib.contextmanager
def private_index(repo: Repository, purpose: str) -> Iterator[Path]:
    """Copy the user's index with its time, without which edits of the same second and size are missed.

    It lies in a folder of its own, for whatever belongs to ``purpose``, and goes away with the block.
    """
    clear_leftover_lock(repo)
    with private_folder(repo, purpose) as folder:
        index = folder / "index"
        with writing(index):
            _copy_index(user_index(repo), index)
        yield index


@contextlib.contextmanager
def private_folder(repo: Repository, purpose: str) -> Iterator[Path]:
    """Give an empty folder in the git directory, which goes away with the block.

    Raises UnusableError when it cannot be made.
    """
    with writing(repo.private_dir):
        repo.private_dir.mkdir(parents=True, exist_ok=True)
        _sweep(repo.private_dir, purpose)
        made = tempfile.TemporaryDirectory(
            prefix=f"{purpose}.", dir=repo.private_dir, ignore_cleanup_errors=True
        )
    with made as folder:
        yield Path(folder)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the system refuses in the block into an UnusableError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise UnusableError(
            f"cannot write {path}: {error.strerror}", hint="make room or make it writable"
        ) from error


def replace_index(repo: Repository, edit: Callable[[Path], bool]) -> None:
    """Replace the user's index by a copy that ``edit`` has changed; False from it leaves the index as it is.

    Where the index is no longer the one that was copied, ``edit`` is called again with a new copy. Raises
    IndexLockedError when another process holds it for longer than a few seconds, or changes it each time.
    """
    clear_leftover_lock(repo)
    for _ in range(_TRIES):
        with private_folder(repo, NEXT) as folder:
            index = folder / "index"
            with writing(index):
                copied = _copy_index(user_index(repo), index)
            if not edit(index) or replace_if(repo, index, partial(_is_unchanged, repo, copied)):
                return
    raise IndexLockedError(
        f"other processes keep changing {user_index(repo)}", hint="repeat the command when they are done"
    )


def _copy_index(source: Path, target: Path) -> _Seen | None:
    """Copy an index with its time; gives which one it was, None where there is none."""
    try:
        with source.open("rb") as before, target.open("xb") as after:
            shutil.copyfileobj(before, after)
            # Of the open file: the index may have been replaced since, and a later time would hide edits.
            seen = _seen_in(before)
    except FileNotFoundError:
        if source.exists():
            raise
        return None
    os.utime(target, ns=(seen.mtime_ns, seen.mtime_ns))
    return seen


def _is_unchanged(repo: Repository, copied: _Seen | None) -> bool:
    """Whether the user's index still is the file that was copied."""
    try:
        with user_index(repo).open("rb") as file:
            return _seen_in(file) == copied
    except FileNotFoundError:
        return copied is None


def _seen_in(file: BinaryIO) -> _Seen:
    status = os.fstat(file.fileno())
    file.seek(max(0, status.st_size - _CHECKSUM_BYTES))
    return _Seen(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size, file.read())


def _sweep(private_dir: Path, purpose: str) -> None:
    """Remove what killed processes left behind."""
    for folder in private_dir.glob(f"{purpose}.*"):
        with contextlib.suppress(FileNotFoundError):
            if folder.is_dir() and time.time() - folder.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
