"""What the index holds: entries, flags, conflicts."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from git_blackbird.git.repository import Repository
from git_blackbird.git.trees import Entry, Trees

_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@dataclass(frozen=True)
class Staged:
    """An index by path, as ``git ls-files -s -v`` lists it.

    ``intended`` is what ``git add -N`` put there: listed as empty files, in no commit, and none of the
    ``entries``. ``tree`` is what a commit of this index would hold; None as long as there are ``unmerged``
    paths. ``tags`` are git's letters: ``S`` for what a sparse checkout or a person
    marked to be skipped, small ones for what is assumed to be unchanged.
    """

    entries: Mapping[bytes, Entry]
    intended: Mapping[bytes, Entry]
    tags: Mapping[bytes, bytes]
    unmerged: tuple[bytes, ...]
    tree: str | None


def read_staged(repo: Repository, index: Path) -> Staged:
    """Read an index file; there may be none. Raises GitError."""
    variables = {"GIT_INDEX_FILE": os.fspath(index)}
    entries: dict[bytes, Entry] = {}
    tags: dict[bytes, bytes] = {}
    unmerged: dict[bytes, None] = {}
    for item in repo.git("ls-files", "-z", "-s", "-v", variables=variables).out.split(b"\0")[:-1]:
        facts, _, path = item.partition(b"\t")
        tag, mode, oid, stage = facts.split(b" ")
        tags[path] = tag
        if stage == b"0":
            entries[path] = Entry(int(mode, 8), oid.decode())
        else:
            unmerged[path] = None
    if unmerged:
        return Staged(entries, {}, tags, tuple(unmerged), None)
    tree = repo.git("write-tree", variables=variables).out.decode().strip()
    intended = _intended(repo, entries, tree)
    settled = {path: entry for path, entry in entries.items() if path not in intended}
    return Staged(settled, intended, tags, (), tree)


def _intended(repo: Repository, entries: Mapping[bytes, Entry], tree: str) -> dict[bytes, Entry]:
    empty = {path: entry for path, entry in entries.items() if entry.oid == _EMPTY_BLOB}
    if not empty:
        return {}
    trees = Trees(repo)
    return {path: entry for path, entry in empty.items() if trees.entry(tree, path) is None}
