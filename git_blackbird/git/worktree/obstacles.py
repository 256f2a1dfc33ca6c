"""What in the user's worktree is in the way of files that are to be written there; found before any is."""

import errno
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from git_blackbird.git.core.trees import SUBMODULE, TreeStore, parents
from git_blackbird.git.worktree.path_writer import Signature
from git_blackbird.model.entities.change import TreePair

_IGNORED = "a file that git ignores, or that no snapshot can have, is in its place"
_FOLDER = "a folder with files that git ignores is in its place"
_BEYOND_LINK = "a symbolic link is in its path"
_REPOSITORY = "it is or was a repository of its own: bring its commit over by hand"
_READ_ONLY = "its folder cannot be written to"
_FIXED = "the system lets nobody change it"
_FIXED_ERRORS = frozenset({errno.EPERM, errno.EROFS})


def find_obstacles(
    top: Path, trees: TreeStore, change: TreePair, expected: Mapping[bytes, Signature]
) -> dict[bytes, str]:
    """Find what writing these paths would destroy, or cannot bring over, each with the reason."""
    removed = frozenset(path for path in expected if trees.entry(change.head, path) is None)
    found = {path: _obstacle(top, trees, change, path, removed) for path in expected}
    for path, signature in expected.items():
        if found[path] is None and signature and trees.entry(change.base, path) is None:
            found[path] = _IGNORED
    return {path: why for path, why in found.items() if why is not None}


def _obstacle(
    top: Path, trees: TreeStore, change: TreePair, path: bytes, removed: frozenset[bytes]
) -> str | None:
    target = top / os.fsdecode(path)
    folders = [top / os.fsdecode(parent) for parent in parents(path)]
    links = [folder for folder in folders if folder.is_symlink()]
    if any(_below(top, link) not in removed for link in links):
        return _BEYOND_LINK
    if SUBMODULE in {entry.mode for tree in change if (entry := trees.entry(tree, path)) is not None}:
        return _REPOSITORY
    files = [folder for folder in folders if folder.exists() and not folder.is_dir()]
    if any(_below(top, file) not in removed for file in files):
        return _IGNORED
    if path not in removed and target.is_dir() and not target.is_symlink():
        inside = set(_files_below(top, target))
        is_empty = not any(target.iterdir())
        if inside - removed or not (inside or is_empty):
            return _FOLDER
    if not (links or files or _is_writable([top, *folders])):
        return _READ_ONLY
    return _FIXED if _is_fixed(target) else None


def _below(top: Path, place: Path) -> bytes:
    return os.fsencode(place.relative_to(top))


def _files_below(top: Path, folder: Path) -> Iterator[bytes]:
    for place, folders, names in os.walk(folder):
        links = (name for name in folders if (Path(place) / name).is_symlink())
        yield from (_below(top, Path(place) / name) for name in (*names, *links))


def _is_writable(folders: list[Path]) -> bool:
    """Whether a file can be put into the last of these folders, or into the last that there is yet."""
    there = [folder for folder in folders if folder.is_dir()]
    return os.access(there[-1], os.W_OK | os.X_OK)


def _is_fixed(target: Path) -> bool:
    """Whether a file is one that can be neither replaced nor removed, whatever its folder allows."""
    if target.is_symlink() or not target.is_file():
        return False
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError as error:
        return error.errno in _FIXED_ERRORS
    return False
