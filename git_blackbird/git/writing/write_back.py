"""Write paths of a tree into the user's worktree, each only if it still is what was compared with."""

import os
import stat
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.changes import submodule_sides
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import LINK, SUBMODULE, TreeEntry, TreeStore, is_reserved, parents
from git_blackbird.git.submodules.checkout import move_submodule
from git_blackbird.git.worktree.index import private_folder, sweep_private_folders
from git_blackbird.git.worktree.saved_trees import checkout_paths, find_private_object
from git_blackbird.git.writing.journal import Journal
from git_blackbird.git.writing.obstacles import IGNORED, is_unknown
from git_blackbird.git.writing.path_writer import PathWriter, Signature, signature_of
from git_blackbird.messages.display.quantities import counted
from git_blackbird.model.base.system import describe, tick_of
from git_blackbird.model.run.summary import Trees

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
    _refuse_reserved(entries)
    repositories = dict(submodule_sides(trees, change))
    files = {
        path: entry.oid for path, entry in entries.items() if entry is not None and path not in repositories
    }
    with private_folder(repo, "files") as private:
        try:
            folder = checkout_paths(repo, change.head, files, private, timeout_seconds=timeout_seconds)
        except UnusableError as error:
            raise WriteBackError(error.message, hint=error.hint) from error
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


def _refuse_reserved(entries: Mapping[bytes, TreeEntry | None]) -> None:
    """Refuse paths that no change may have: state, the plan, a link that git takes for ``.gitmodules``."""
    for path, entry in entries.items():
        top, _, below = path.partition(b"/")
        if is_reserved(top, is_link=not below and entry is not None and entry.mode == LINK):
            raise WriteBackError(f"a change may not write {os.fsdecode(path)!a}")


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
            hint="move that away; `git blackbird execute` goes on with it",
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
