"""The diff of a change with nothing of its text hidden: what reviewers judge by."""

import os

from git_blackbird.git.changes import PATCH, diff_text
from git_blackbird.git.program import operands, revisions
from git_blackbird.git.repository import Repository, opened
from git_blackbird.git.trees import SUBMODULE, Entry, Trees
from git_blackbird.model.change import TreePair

_NUMSTAT = ("diff-tree", "-r", "--numstat", "-z", "--no-renames")
# As far as git looks for a NUL itself.
_LOOKED_AT_BYTES = 8000


def whole_diff(repo: Repository, pair: TreePair) -> bytes:
    """Give the diff, and after it the text of files that attributes keep out of diffs (``-diff``).

    Attributes come with the change itself: what is reviewed could hide there. Raises GitError.
    """
    hidden = [path for path in _said_binary(repo, pair) if not _is_binary(repo, pair, path)]
    if not hidden:
        return diff_text(repo, pair)
    paths = [f":(literal){os.fsdecode(path)}" for path in hidden]
    return diff_text(repo, pair) + repo.git(*PATCH, "--text", *revisions(*pair), *operands(*paths)).out


def _said_binary(repo: Repository, pair: TreePair) -> list[bytes]:
    """Name the changed files of which a diff shows no lines."""
    told = repo.git(*_NUMSTAT, *revisions(*pair), *operands()).out
    rows = (row.split(b"\t", 2) for row in told.split(b"\0") if row)
    return [row[2] for row in rows if row[:2] == [b"-", b"-"]]


def _is_binary(repo: Repository, pair: TreePair, path: bytes) -> bool:
    trees = Trees(repo)
    sides = (trees.entry(pair.base, path), trees.entry(pair.head, path))
    return any(_has_nul(repo, side) for side in sides if side is not None)


def _has_nul(repo: Repository, side: Entry) -> bool:
    import pygit2  # noqa: PLC0415  # only a diff pays for it

    if side.mode == SUBMODULE:
        return True
    blob = opened(repo)[side.oid].peel(pygit2.Blob)
    return b"\0" in blob.data[:_LOOKED_AT_BYTES]
