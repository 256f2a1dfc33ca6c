"""The diff of a change with no text hidden, for reviewers."""

import os

from git_blackbird.git.core.process import operands, revisions
from git_blackbird.git.core.repository import Repository, open_libgit2
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore
from git_blackbird.git.worktree.changes import PATCH, diff_text
from git_blackbird.model.entities.change import TreePair

_NUMSTAT = ("diff-tree", "-r", "--numstat", "-z", "--no-renames")
# Git looks for a NUL in as many bytes.
_LOOKED_AT_BYTES = 8000


def unfiltered_diff(repo: Repository, pair: TreePair) -> bytes:
    """Return the diff, followed by the text of files that attributes exclude from diffs (``-diff``).

    The change itself may contain attributes and hide text from review. Raises GitError.
    """
    hidden = [path for path in _binary_paths(repo, pair) if not _is_binary(repo, pair, path)]
    if not hidden:
        return diff_text(repo, pair)
    paths = [f":(literal){os.fsdecode(path)}" for path in hidden]
    return diff_text(repo, pair) + repo.git(*PATCH, "--text", *revisions(*pair), *operands(*paths)).out


def _binary_paths(repo: Repository, pair: TreePair) -> list[bytes]:
    """Return the changed files for which a diff shows no lines."""
    output = repo.git(*_NUMSTAT, *revisions(*pair), *operands()).out
    rows = (row.split(b"\t", 2) for row in output.split(b"\0") if row)
    return [row[2] for row in rows if row[:2] == [b"-", b"-"]]


def _is_binary(repo: Repository, pair: TreePair, path: bytes) -> bool:
    trees = TreeStore(repo)
    sides = (trees.entry(pair.base, path), trees.entry(pair.head, path))
    return any(_has_nul(repo, side) for side in sides if side is not None)


def _has_nul(repo: Repository, side: TreeEntry) -> bool:
    import pygit2  # noqa: PLC0415  # only a diff pays for it

    if side.mode == SUBMODULE:
        return True
    blob = open_libgit2(repo)[side.oid].peel(pygit2.Blob)
    return b"\0" in blob.data[:_LOOKED_AT_BYTES]
