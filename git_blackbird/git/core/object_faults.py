"""The objects below trees that are gone or damaged.

Each tree is read, and each file that is outside of packs: these are what a crash or a full disk leaves empty
or cut. Of files in packs only the presence is looked at: ``git fsck`` reads a pack faster, as a whole.
"""

import os
from collections.abc import Collection, Iterable

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import DIRECTORY, SUBMODULE, TreeEntry, TreeStore


class ObjectFaults:
    """What is gone or damaged below some trees, of which each object is looked at once."""

    def __init__(self, repo: Repository, trees: Iterable[str]) -> None:
        self._store = TreeStore(repo)
        self._folder = os.fspath(repo.common_dir / "objects")
        self._above: dict[str, list[str]] = {}
        self._faulty = self._look({tree: TreeEntry(DIRECTORY, tree) for tree in trees})
        self._leading = self._with_all_above()

    def below(self, trees: Collection[str]) -> tuple[str, ...]:
        """Return those of these trees, and of what is in them, that are gone or damaged."""
        found: set[str] = set()
        fresh = {*trees} & self._leading
        while fresh:
            found |= fresh
            loaded = (self._store.load(oid) for oid in fresh - self._faulty)
            fresh = {entry.oid for tree in loaded for entry in tree.values()} & self._leading - found
        return tuple(sorted(found & self._faulty))

    def _look(self, pending: dict[str, TreeEntry]) -> set[str]:
        """Return what is gone or damaged, and note which trees are above each object."""
        faulty = set()
        while pending:
            oid, one = pending.popitem()
            inner = self._inside(one)
            if inner is None:
                faulty.add(oid)
            for entry in inner or ():
                if entry.oid not in self._above:
                    pending[entry.oid] = entry
                self._above.setdefault(entry.oid, []).append(oid)
        return faulty

    def _inside(self, one: TreeEntry) -> list[TreeEntry] | None:
        """Return what is in a tree, and nothing for a file; None for what cannot be read."""
        if one.mode == DIRECTORY:
            try:
                return [entry for entry in self._store.load(one.oid).values() if entry.mode != SUBMODULE]
            except UnusableError:
                return None
        is_loose = os.path.lexists(f"{self._folder}/{one.oid[:2]}/{one.oid[2:]}")
        return [] if (self._store.is_sound(one.oid) if is_loose else one.oid in self._store) else None

    def _with_all_above(self) -> set[str]:
        found, pending = set(self._faulty), [*self._faulty]
        while pending:
            above = {*self._above.get(pending.pop(), ())} - found
            found |= above
            pending += above
        return found
