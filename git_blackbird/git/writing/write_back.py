"""Write paths of a tree into a worktree, each only if it still is what was compared with.

Before any is written, what is in the way is found.
"""

import errno
import os
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.core.output import object_ids
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import (
    EXECUTABLE,
    LINK,
    REGULAR,
    SUBMODULE,
    TreeEntry,
    TreeStore,
    is_reserved,
    parents,
)
from git_blackbird.git.submodules.checkout import move_submodule, why_unmovable
from git_blackbird.git.worktree.index import QUIET_OPTIONS, private_folder, sweep_private_folders
from git_blackbird.git.worktree.saved_trees import checkout_paths, find_private_object
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.git.writing.path_writer import NESTED, Journal, PathWriter, Signature, signature_of
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.next_steps import EXECUTE, Sentence
from git_blackbird.model.base.system import describe, tick_of
from git_blackbird.model.run.summary import Trees

IGNORED = "a file that git ignores, or that no snapshot can have, is in its place"
_FOLDER = "a folder with files that git ignores is in its place"
_BEYOND_LINK = "a symbolic link is in its path"
_READ_ONLY = "its folder cannot be written to"
_FIXED = "the system lets nobody change it"
_FIXED_ERRORS = frozenset({errno.EPERM, errno.EROFS})


class Present(NamedTuple):
    """A worktree before changes are written; ``unknown`` paths differ from the tree, each with the reason."""

    tree: str
    unknown: Mapping[bytes, str]


def add_ignored(
    repo: Repository, taken: Snapshot, changes: Sequence[Trees], expected: Mapping[bytes, Signature]
) -> Present:
    """Add to a snapshot the ignored files that equal a side of the changes; the others are unknown.

    ``expected`` has the paths of the changes. Files are hashed, and not stored. Raises GitError.
    """
    trees = TreeStore(repo)
    unknown = {os.fsencode(skipped.path): skipped.reason for skipped in taken.left_out}
    ignored = [
        path
        for path, signature in expected.items()
        if signature and path not in unknown and trees.entry(taken.tree, path) is None
        if not any((repo.top / os.fsdecode(parent)).is_symlink() for parent in parents(path))
    ]
    hashed = _hashed(repo, {path: expected[path] for path in ignored})
    known = dict[bytes, TreeEntry | None]()
    for path in ignored:
        sides = {trees.entry(side, path) for change in changes for side in change} - {None}
        if hashed.get(path) in sides:
            known[path] = hashed[path]
        else:
            unknown[path] = IGNORED
    return Present(trees.edited(taken.tree, known), unknown)


def _hashed(repo: Repository, signatures: Mapping[bytes, Signature]) -> dict[bytes, TreeEntry]:
    """Return the tree entries of files and links; nothing for anything else."""
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    places = {path: repo.top / os.fsdecode(path) for path in signatures}
    modes = {path: signature[4] for path, signature in signatures.items()}
    links = [path for path, mode in modes.items() if stat.S_ISLNK(mode)]
    files = [path for path, mode in modes.items() if stat.S_ISREG(mode) and os.access(places[path], os.R_OK)]
    # Not as a path, which has no double slash.
    texts = {path: os.fsencode(os.readlink(places[path])) for path in links}  # noqa: PTH115
    found = {path: TreeEntry(LINK, str(pygit2.hash(text))) for path, text in texts.items()}
    if files:
        names = b"".join(b'"%s"\n' % b"".join(b"\\%03o" % byte for byte in path) for path in files)
        listed = repo.git(*QUIET_OPTIONS, "hash-object", "--stdin-paths", stdin=names).lines(object_ids)
        for path, oid in zip(files, listed, strict=True):
            found[path] = TreeEntry(EXECUTABLE if modes[path] & stat.S_IXUSR else REGULAR, oid)
    return found


def is_unknown(trees: TreeStore, change: Trees, path: bytes, expected: Mapping[bytes, Signature]) -> bool:
    """Return whether a file is at a path that the base of a change does not have."""
    if not expected[path] or trees.entry(change.base, path) is not None:
        return False
    # Where a file system folds case, it may be one that is renamed.
    same = [other for other, signature in expected.items() if signature == expected[path] and other != path]
    return all(trees.entry(change.head, other) is not None for other in same)


def find_obstacles(repo: Repository, change: Trees, expected: Mapping[bytes, Signature]) -> dict[bytes, str]:
    """Find what writing a change would destroy, or cannot bring over, each path with the reason."""
    trees = TreeStore(repo)
    paths = sorted(trees.changed_paths(*change))
    removed = frozenset(path for path in paths if trees.entry(change.head, path) is None)
    found = {path: _obstacle(repo, trees, change, path, removed) for path in paths}
    for path in paths:
        if any(os.path.lexists(repo.top / os.fsdecode(parent) / ".git") for parent in parents(path)):
            found[path] = NESTED
        elif found[path] is None and is_unknown(trees, change, path, expected):
            found[path] = IGNORED
    return {path: why for path, why in found.items() if why is not None}


def _obstacle(
    repo: Repository, trees: TreeStore, change: Trees, path: bytes, removed: frozenset[bytes]
) -> str | None:
    top = repo.top
    target = top / os.fsdecode(path)
    folders = [top / os.fsdecode(parent) for parent in parents(path)]
    links = [folder for folder in folders if folder.is_symlink()]
    if any(_below(top, link) not in removed for link in links):
        return _BEYOND_LINK
    sides = trees.entry(change.base, path), trees.entry(change.head, path)
    if any(entry is not None and entry.mode == SUBMODULE for entry in sides):
        return why_unmovable(repo, path, *sides)
    files = [folder for folder in folders if folder.exists() and not folder.is_dir()]
    if any(_below(top, file) not in removed for file in files):
        return IGNORED
    is_folder = path not in removed and target.is_dir() and not target.is_symlink()
    if is_folder and set(_files_below(top, target)) - removed:
        return _FOLDER
    # A file can be put into the last of these folders, or into the last that there is yet.
    there = [folder for folder in (top, *folders) if folder.is_dir()]
    if not (links or files or os.access(there[-1], os.W_OK | os.X_OK)):
        return _READ_ONLY
    if target.is_file() and not target.is_symlink():
        # It may be such that it can be neither replaced nor removed, whatever its folder allows.
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
        except OSError as error:
            return _FIXED if error.errno in _FIXED_ERRORS else None
    return None


def _below(top: Path, place: Path) -> bytes:
    return os.fsencode(place.relative_to(top))


def _files_below(top: Path, folder: Path) -> Iterator[bytes]:
    """Yield the files in a folder, and folders that cannot be read; a folder without files has none."""
    unreadable = list[OSError]()
    for place, folders, names in os.walk(folder, onerror=unreadable.append):
        links = (name for name in folders if (Path(place) / name).is_symlink())
        yield from (_below(top, Path(place) / name) for name in (*names, *links))
    yield from (_below(top, Path(error.filename)) for error in unreadable)


_NOT_TRIED = "it comes after one that could not be written"


class WriteBackError(UnusableError): ...


@cache
def writing_lock(_top: Path) -> threading.Lock:
    """Return the lock to hold while a change is written into a worktree, and while none may be."""
    return threading.Lock()


def take_signatures(repo: Repository, paths: Iterable[bytes]) -> Mapping[bytes, Signature]:
    """Note how files are in the worktree now, before the snapshot that a change is merged with.

    Every later write changes the signature: this waits until the clock of the files has gone on. What a
    killed process left goes first, which would change it, too. Raises UnusableError.
    """
    sweep_private_folders(repo)
    places = {path: repo.top / os.fsdecode(path) for path in paths}
    while True:
        began = time.time_ns()
        taken = {path: signature_of(place) for path, place in places.items()}
        latest = max((max(found[:2]) for found in taken.values() if found), default=0)
        left = latest + tick_of(latest) - began
        # A time in the future says nothing, however long one waits.
        if left <= 0 or latest > began:
            return taken
        time.sleep(left / 1e9)


def find_edited(repo: Repository, expected: Mapping[bytes, Signature]) -> frozenset[bytes]:
    """Return the paths that are not as they were noted."""
    return frozenset(
        path for path, known in expected.items() if signature_of(repo.top / os.fsdecode(path)) != known
    )


def write_paths(
    repo: Repository,
    change: Trees,
    expected: Mapping[bytes, Signature],
    journal: Journal,
    *,
    timeout_seconds: float,
) -> dict[bytes, str]:
    """Bring the worktree from one tree to another, path by path, and note each in the journal.

    ``expected`` has every path that differs. Return those that stay as they are, each with the reason: after
    the first that cannot be written none is, so that what is written is the beginning of ``writing_order``.
    The index is not touched, and folders that become empty are removed. Raises WriteBackError before anything
    is written.
    """
    trees = TreeStore(repo)
    entries = {path: trees.entry(change.head, path) for path in sorted(trees.changed_paths(*change))}
    for path, entry in entries.items():
        top, _, below = path.partition(b"/")
        # A link is what git may take for ``.gitmodules``.
        if is_reserved(top, is_link=not below and entry is not None and entry.mode == LINK):
            raise WriteBackError(f"a change may not write {os.fsdecode(path)!a}")
    repositories = dict(submodule_sides(trees, change))
    files = {
        path: entry.oid for path, entry in entries.items() if entry is not None and path not in repositories
    }
    with private_folder(repo, "files") as private:
        try:
            folder = checkout_paths(repo, change.head, files, private, timeout_seconds=timeout_seconds)
        except UnusableError as error:
            raise WriteBackError(error.lines, hint=error.ways_out) from error
        new = {path: folder / os.fsdecode(path) for path in files}
        for path, oid in files.items():
            if find_private_object(repo, oid) is not None and not new[path].is_symlink():
                new[path].chmod(new[path].stat().st_mode & stat.S_IRWXU)
        refused: dict[bytes, str] = {}
        journal.open()
        with writing_lock(repo.top), PathWriter(repo, private, journal) as writer:
            for path in writing_order(entries):
                reason: str | None = None
                if refused:
                    reason = _NOT_TRIED
                elif path in repositories:
                    reason = _move(repo, path, repositories[path], journal)
                elif is_unknown(trees, change, path, expected):
                    reason = IGNORED
                else:
                    reason = writer.write(path, new.get(path), expected[path])
                if reason is not None:
                    refused[path] = reason
    return refused


def _move(
    repo: Repository, path: bytes, sides: tuple[TreeEntry | None, TreeEntry | None], journal: Journal
) -> str | None:
    journal.note_write(path, 0)
    try:
        reason = move_submodule(repo, path, *sides)
    except OSError as error:
        return describe(error)
    if reason is None:
        journal.note_written(path)
    return reason


def write_all_paths(
    repo: Repository, before: str, after: str, expected: Mapping[bytes, Signature], *, timeout_seconds: float
) -> None:
    """Bring a worktree from the tree ``before`` to ``after``, as ``write_paths`` does.

    Raises WriteBackError where a path stays as it is.
    """
    change, journal = Trees(before, after), Journal(repo, f"{before} {after}")
    refused = write_paths(repo, change, expected, journal, timeout_seconds=timeout_seconds)
    journal.clear()
    require_written(repo, refused)


def require_written(repo: Repository, refused: Mapping[bytes, str]) -> None:
    """Raise WriteBackError where a path stays as it is."""
    if refused:
        raise WriteBackError(
            f"{repo.top} cannot be brought up to date: {describe_unwritten(refused)}",
            hint=Sentence("move that away; ", EXECUTE, " goes on with it"),
        )


def describe_unwritten(paths: Mapping[bytes, str]) -> str:
    """Name the paths that were not written, with the reasons, and count those that were not tried."""
    named = [(path, why) for path, why in sorted(paths.items()) if why != _NOT_TRIED]
    untried = len(paths) - len(named)
    rest = (f"{counted(untried, 'path')} after that left for another time",) if untried else ()
    return "; ".join((*(f"{path.decode(errors='replace')}: {why}" for path, why in named), *rest))


def writing_order(entries: Mapping[bytes, TreeEntry | None]) -> list[bytes]:
    """Return paths in the order in which they are written; None is for one that is removed.

    What is in the way of a file comes first, and submodules, which git may refuse to move. Other removals
    come last: a moved file is never nowhere.
    """
    files = {path for path, entry in entries.items() if entry is not None}
    folders = {parent for path in files for parent in parents(path)}

    def rank(path: bytes) -> int:
        entry = entries[path]
        if entry is not None and entry.mode == SUBMODULE:
            return 0
        is_in_the_way = path in folders or not files.isdisjoint(parents(path))
        return 1 if path in files else 0 if is_in_the_way else 2

    return sorted(entries, key=lambda path: (rank(path), path))
