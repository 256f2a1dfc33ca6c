"""Read the user's index, copy it to work on, and replace it by a copy."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import operands
from git_blackbird.git.core.repository import Repository, signature
from git_blackbird.git.core.trees import SUBMODULE, Edits, TreeEntry, TreeStore
from git_blackbird.git.worktree.index_lock import NEXT, clear_leftover_lock, replace_if
from git_blackbird.model.base.system import NO_LOCKS, describe, has_own_folder, make_own_folder, refusal_hint

_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@dataclass(frozen=True)
class IndexState:
    """An index by path, as ``git ls-files -s -v`` lists it.

    ``intended`` are paths added by ``git add -N``: listed as empty files, in no commit, and not in
    ``entries``. ``tree`` is the tree of a commit of this index; None while there are ``unmerged`` paths.
    ``tags`` are git's letters: ``S`` for skip-worktree, lower case for assume-unchanged.
    """

    entries: Mapping[bytes, TreeEntry]
    intended: Mapping[bytes, TreeEntry]
    tags: Mapping[bytes, bytes]
    unmerged: tuple[bytes, ...]
    tree: str | None


def read_index_state(repo: Repository, index: Path) -> IndexState:
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    listed = repo.git("ls-files", "-z", "-s", "-v", variables=variables)
    entries, tags, unmerged = listed.records(_listed_entries)
    if unmerged:
        return IndexState(entries, {}, tags, unmerged, None)
    tree = repo.git("write-tree", variables=variables).oid()
    intended = {path: entry for path, entry in entries.items() if entry.oid == _EMPTY_BLOB}
    if intended:
        trees = TreeStore(repo)
        intended = {path: entry for path, entry in intended.items() if trees.entry(tree, path) is None}
    settled = {path: entry for path, entry in entries.items() if path not in intended}
    return IndexState(settled, intended, tags, (), tree)


def read_entry(repo: Repository, name: str) -> tuple[TreeEntry | None, bytes]:
    """Return the entry of the user's index at one path, and its tag; None without one, and in conflict."""
    listed = repo.git("ls-files", "-z", "-s", "-v", *operands(name))
    entries, tags, _ = listed.records(_listed_entries)
    path = os.fsencode(name)
    return entries.get(path), tags.get(path, b"")


def _listed_entries(
    records: list[bytes],
) -> tuple[dict[bytes, TreeEntry], dict[bytes, bytes], tuple[bytes, ...]]:
    entries: dict[bytes, TreeEntry] = {}
    tags: dict[bytes, bytes] = {}
    unmerged: dict[bytes, None] = {}
    for record in records:
        facts, path = record.split(b"\t", 1)
        tag, mode, oid, stage = facts.split(b" ")
        tags[path] = tag
        if stage == b"0":
            entries[path] = TreeEntry(int(mode, 8), oid.decode())
        else:
            unmerged[path] = None
    return entries, tags, tuple(unmerged)


def may_have_attributes(index: Path) -> bool:
    """Whether a ``.gitattributes`` may be in an index. Raises OSError."""
    content = index.read_bytes()
    # From version 4 on, names are cut where they begin as the ones before.
    return int.from_bytes(content[4:8]) > 3 or b".gitattributes" in content


def may_have_submodules(index: Path) -> bool:
    """Whether an index may have an entry with the mode of a submodule. Raises OSError."""
    content = index.read_bytes()
    # The entries of a split index are in another file.
    return SUBMODULE.to_bytes(4) in content or b"link" in content


def read_entries(index: Path, paths: Iterable[bytes]) -> Edits:
    """Return the entries of an index at some paths, None where it has none. Raises UnusableError."""
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    names = {path: os.fsdecode(path) for path in paths}
    if not names:
        return {}
    try:
        held = pygit2.Index(os.fspath(index))
        found = {path: held[name] if name in held else None for path, name in names.items()}  # noqa: SIM401
    except (pygit2.GitError, OSError, UnicodeError) as error:
        raise UnusableError(f"cannot read {index}: {describe(error)}") from error
    return {
        path: None if entry is None else TreeEntry(int(entry.mode), str(entry.id))
        for path, entry in found.items()
    }


def write_entries(index: Path, entries: Edits) -> None:
    """Set these entries of an index, which may be a new one, or remove them. Raises UnusableError.

    Git compares the files of entries that are set with them.
    """
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    try:
        seen = signature(index)
        made = pygit2.Index(os.fspath(index))
        for path, entry in entries.items():
            name = os.fsdecode(path)
            if entry is not None:
                mode = cast("pygit2.enums.FileMode", entry.mode)
                made.add(pygit2.IndexEntry(name, pygit2.Oid(hex=entry.oid), mode))
            elif name in made:
                made.remove(name)
        made.write()
        for changed in seen[:1]:
            # With a later time git would miss edits of the other files from the moment of the last.
            os.utime(index, ns=(changed, changed))
    except (pygit2.GitError, OSError, UnicodeError) as error:
        raise UnusableError(f"cannot write {index}: {describe(error)}") from error


# Options for our own git commands on an index: the repository's programs do not run for them, except for
# content filters, and core.safecrlf does not keep a file out.
QUIET_OPTIONS = (
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.splitIndex=false"),
    *("-c", "core.safecrlf=false"),
)
_STALE_SECONDS = 24 * 3600
_WORKING_COPIES = frozenset({"files", "checkout", "snapshot", "modes", "submodule", "forgotten"})
_TRIES = 5
# An index ends with a checksum of its content.
_CHECKSUM_BYTES = 20
_NO_INDEX = "none"
# The time, device, inode, size and checksum of an index, to notice that another took its place.
IndexIdentity = tuple[int, int, int, int, bytes]


@contextlib.contextmanager
def private_index(repo: Repository, purpose: str) -> Iterator[Path]:
    """Copy the user's index to a folder for the block.

    Its time stamp is copied too: without it git misses edits of the same second and size.
    """
    clear_leftover_lock(repo)
    with private_folder(repo, purpose) as folder:
        index = folder / "index"
        with writing(index):
            copy_index(repo.index, index)
        yield index


@contextlib.contextmanager
def private_folder(repo: Repository, purpose: str, kept: Path | None = None) -> Iterator[Path]:
    """Have a folder in the git directory for the block: the kept one, if there. Raises UnusableError."""
    with contextlib.ExitStack() as stack:
        with writing(repo.private_dir):
            make_own_folder(repo.private_dir)
            # A new folder is not locked yet, as one that a killed process left.
            with _locked(repo.private_dir):
                _sweep(repo.private_dir, purpose)
                folder = _take_kept(repo.private_dir, purpose, kept) or Path(
                    tempfile.mkdtemp(prefix=f"{purpose}.", dir=repo.private_dir)
                )
                stack.callback(shutil.rmtree, folder, ignore_errors=True)
                stack.enter_context(_locked(folder))
        yield folder


def _take_kept(private: Path, purpose: str, kept: Path | None) -> Path | None:
    """Take a kept folder, so that no other process has it; None without one."""
    if kept is None or not has_own_folder(kept):
        return None
    folder = private / f"{purpose}.{os.urandom(4).hex()}"
    try:
        os.rename(kept, folder)  # noqa: PTH104  # the plain system call, as its name in traces
    except OSError:
        return None
    # As old as it was, it would be swept.
    os.utime(folder)
    return folder


def sweep_private_folders(repo: Repository) -> None:
    """Remove the folders of killed processes: files there may be links to some of the worktree."""
    if repo.private_dir.is_dir():
        with writing(repo.private_dir), _locked(repo.private_dir):
            _sweep(repo.private_dir)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder for the block; a killed process loses the lock.

    Only on a file system without locks, where no other process can take one either, the block goes without.
    Raises OSError, and UnusableError if the lock is refused: the next sweep would take the folder for left.
    """
    with _opened(folder) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                message = f"cannot lock {folder}: {error.strerror}"
                raise UnusableError(message, hint=refusal_hint(error)) from error
        yield


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _sweep(private: Path, purpose: str = "") -> None:
    """Remove the folders of killed processes, of working copies and for one purpose."""
    for name in os.listdir(private):
        kind, point, _ = name.partition(".")
        # What others are called tells which index lock is ours, or belongs to a process that outlives us.
        is_working_copy = kind in _WORKING_COPIES
        if not point or not (is_working_copy or kind == purpose):
            continue
        left = private / name
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), _opened(left) as descriptor:
            is_left = time.time() - left.stat().st_mtime > _STALE_SECONDS
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_left = is_left or is_working_copy
            except BlockingIOError:
                continue
            except OSError:
                pass  # without locks its age tells
            if is_left:
                shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert OSError in the block to an UnusableError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise UnusableError(
            f"cannot write {path}: {error.strerror}", hint="make room or make it writable"
        ) from error


def replace_index(repo: Repository, edit: Callable[[Path], bool]) -> None:
    """Replace the user's index by a copy changed by ``edit``, unless that returns False.

    ``edit`` is called again with a new copy if the index was replaced meanwhile. Raises UnusableError if
    another process locks it for more than a few seconds, or changes it each time.
    """
    clear_leftover_lock(repo)
    for _ in range(_TRIES):
        with private_folder(repo, NEXT) as folder:
            index = folder / "index"
            with writing(index):
                copied = copy_index(repo.index, index)
            if not edit(index) or replace_if(repo, index, partial(_is_still, repo.index, copied)):
                return
    raise UnusableError(
        f"other processes keep changing {repo.index}", hint="repeat the command when they are done"
    )


def copy_index(source: Path, target: Path) -> IndexIdentity | None:
    """Copy an index, if there is one, with its time stamp."""
    try:
        with source.open("rb") as before, target.open("xb") as after:
            shutil.copyfileobj(before, after)
            # From the open file: the index may have been replaced since, and a later time would hide edits.
            seen = _identity_in(before)
    except FileNotFoundError:
        if source.exists():
            raise
        return None
    os.utime(target, ns=(seen[0], seen[0]))
    return seen


def identity_of(index: Path) -> IndexIdentity | None:
    """Return what another index in its place would not have; None without one."""
    with contextlib.suppress(FileNotFoundError), index.open("rb") as file:
        return _identity_in(file)
    return None


def checksum_of(seen: IndexIdentity | None) -> str | None:
    """Return a text that identifies the content of an index; None if git was told not to make one."""
    if seen is None:
        return _NO_INDEX
    return seen[-1].hex() if any(seen[-1]) else None


def _identity_in(file: BinaryIO) -> IndexIdentity:
    status = os.fstat(file.fileno())
    file.seek(max(0, status.st_size - _CHECKSUM_BYTES))
    return status.st_mtime_ns, status.st_dev, status.st_ino, status.st_size, file.read()


def _is_still(index: Path, copied: IndexIdentity | None) -> bool:
    return identity_of(index) == copied
