"""Find what is in the way of files to be written into the user's worktree, before any is written."""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from git_blackbird.git.core.output import object_ids
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import EXECUTABLE, LINK, REGULAR, SUBMODULE, TreeEntry, TreeStore, parents
from git_blackbird.git.submodules.checkout import why_unmovable
from git_blackbird.git.worktree.index import QUIET_OPTIONS
from git_blackbird.git.worktree.snapshot import Snapshot
from git_blackbird.git.writing.path_writer import NESTED, Signature
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
    import pygit2  # loaded by now

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
    """Whether there is a file in the place of a path that the base of a change does not have."""
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
    if not (links or files or _is_writable([top, *folders])):
        return _READ_ONLY
    return _FIXED if _is_fixed(target) else None


def _below(top: Path, place: Path) -> bytes:
    return os.fsencode(place.relative_to(top))


def _files_below(top: Path, folder: Path) -> Iterator[bytes]:
    """Yield the files in a folder, and folders that cannot be read; a folder without files has none."""
    unreadable = list[OSError]()
    for place, folders, names in os.walk(folder, onerror=unreadable.append):
        links = (name for name in folders if (Path(place) / name).is_symlink())
        yield from (_below(top, Path(place) / name) for name in (*names, *links))
    yield from (_below(top, Path(error.filename)) for error in unreadable)


def _is_writable(folders: list[Path]) -> bool:
    """Whether a file can be put into the last of these folders, or into the last that there is yet."""
    there = [folder for folder in folders if folder.is_dir()]
    return os.access(there[-1], os.W_OK | os.X_OK)


def _is_fixed(target: Path) -> bool:
    """Whether a file can be neither replaced nor removed, whatever its folder allows."""
    if target.is_symlink() or not target.is_file():
        return False
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError as error:
        return error.errno in _FIXED_ERRORS
    return False
