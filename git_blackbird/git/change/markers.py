"""Conflict markers of merges that this program made, in files that are not resolved yet."""

import re
from collections.abc import Iterator

from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.worktree.base_commits import is_our_commit
from git_blackbird.model.run.summary import Trees

# The sides of such a merge are commits on no branch, which its markers name by id.
_MARKER = re.compile(rb"^(?:<{3,}|\|{3,}|>{3,}) ([0-9a-f]{40})\b", re.MULTILINE)


def paths_with_markers(repo: Repository, change: Trees) -> tuple[bytes, ...]:
    """Return the paths to which a change brings markers of a merge that this program made.

    Markers of any other merge are left to whoever wrote them. Raises UnusableError.
    """
    trees = TreeStore(repo)
    with using_objects(repo):
        return tuple(path for path in sorted(trees.changed_paths(*change)) if _has_new(trees, change, path))


def _has_new(trees: TreeStore, change: Trees, path: bytes) -> bool:
    before, after = (set(_sides(trees, trees.entry(tree, path))) for tree in change)
    return any(is_our_commit(trees.objects, side) for side in after - before)


def _sides(trees: TreeStore, entry: TreeEntry | None) -> Iterator[str]:
    if entry is not None and entry.mode != SUBMODULE:
        yield from (side.decode() for side in _MARKER.findall(trees.objects.read(entry.oid)[1]))
