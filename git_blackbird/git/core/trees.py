"""Git trees as plain values: names are bytes, an entry is a mode and an object id.

They are read and written as raw objects: names may hold any bytes but NUL and slash, and the tree types of
libgit2 only offer text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, open_libgit2

if TYPE_CHECKING:
    import pygit2

DIRECTORY = 0o040000
SUBMODULE = 0o160000
REGULAR = 0o100644
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)


class TreeEntry(NamedTuple):
    """A tree entry: the mode as git writes it, and the object's id in hex."""

    mode: int
    oid: str


Tree = Mapping[bytes, TreeEntry]
Edits = Mapping[bytes, TreeEntry | None]


class TreeStore:
    """Read trees of one repository, each once, and write new ones."""

    def __init__(self, repo: Repository) -> None:
        self.objects: pygit2.Repository = open_libgit2(repo)
        self._seen: dict[str, Tree] = {}

    def __contains__(self, oid: str) -> bool:
        """Whether the repository has this object, and with it what it is made of."""
        return oid in self.objects

    def load(self, oid: str) -> Tree:
        """Return the entries of one tree. Raises UnusableError if there is no such tree."""
        known = self._seen.get(oid)
        if known is None:
            known = self._seen[oid] = _parse(self._raw(oid))
        return known

    def save(self, tree: Tree) -> str:
        """Write one tree and return its id. Raises UnusableError if the repository cannot be written."""
        import pygit2  # noqa: PLC0415 - loaded by now

        try:
            oid = str(self.objects.write(pygit2.enums.ObjectType.TREE, _render(tree)))
        except (OSError, pygit2.GitError) as error:
            raise UnusableError(
                f"cannot write to {self.objects.path}: {error}", hint="make room or make it writable"
            ) from error
        self._seen[oid] = dict(tree)
        return oid

    def entry(self, oid: str, path: bytes) -> TreeEntry | None:
        """Return the entry of the tree ``oid`` at ``path``; None if there is none or it is a directory."""
        *parents, name = path.split(b"/")
        tree = self.load(oid)
        for parent in parents:
            inner = tree.get(parent)
            if inner is None or inner.mode != DIRECTORY:
                return None
            tree = self.load(inner.oid)
        there = tree.get(name)
        return None if there is None or there.mode == DIRECTORY else there

    def without(self, oid: str, names: Iterable[bytes]) -> str:
        """Write the tree ``oid`` without the entries of these names at its top."""
        top, left_away = self.load(oid), set(names)
        remaining = {name: entry for name, entry in top.items() if name not in left_away}
        return oid if len(remaining) == len(top) else self.save(remaining)

    def changed_paths(self, base: str, head: str) -> Iterator[bytes]:
        """Return every path at which the two trees differ, unordered."""
        pending: list[tuple[bytes, str | None, str | None]] = [(b"", base, head)]
        while pending:
            prefix, old, new = pending.pop()
            before, after = (self.load(oid) if oid is not None else {} for oid in (old, new))
            for name in before.keys() | after.keys():
                sides = before.get(name), after.get(name)
                if sides[0] == sides[1]:
                    continue
                below = [entry.oid if entry and entry.mode == DIRECTORY else None for entry in sides]
                if any(below):
                    pending.append((prefix + name + b"/", below[0], below[1]))
                if any(entry and entry.mode != DIRECTORY for entry in sides):
                    yield prefix + name

    def edited(self, oid: str, edits: Edits) -> str:
        """Write the tree ``oid`` with each path of ``edits`` set, or removed if the value is None.

        A file that is set replaces a directory of its name, and the other way round. Removing applies to
        files only. The paths to set must not lie under one another. Empty directories disappear.
        """
        by_directory = _by_directory(edits)
        before: dict[bytes, Tree] = {b"": self.load(oid)}
        for directory in filter(None, by_directory):
            above, _, name = directory.rpartition(b"/")
            there = before[above].get(name)
            before[directory] = self.load(there.oid) if there is not None and there.mode == DIRECTORY else {}
        # Deepest first and without recursion, because paths can be very deep.
        finished: dict[bytes, dict[bytes, Tree]] = {}
        tree: Tree = {}
        for directory in reversed(by_directory):
            tree = self._directories_edited(before[directory], finished.pop(directory, {}))
            tree = _files_edited(tree, by_directory[directory])
            above, _, name = directory.rpartition(b"/")
            finished.setdefault(above, {})[name] = tree
        return self.save(tree)

    def _directories_edited(self, tree: Tree, finished: Mapping[bytes, Tree]) -> Tree:
        """Put finished directories into their parents; an empty one is removed."""
        result = dict(tree)
        for name, inner in finished.items():
            there = result.get(name)
            if inner:
                result[name] = TreeEntry(DIRECTORY, self.save(inner))
            elif there is not None and there.mode == DIRECTORY:
                del result[name]
        return result

    def _raw(self, oid: str) -> bytes:
        import pygit2  # noqa: PLC0415 - loaded by now

        try:
            kind, data = self.objects.read(pygit2.Oid(hex=oid))
        except KeyError as error:
            raise UnusableError(f"the tree {oid} is not in this repository") from error
        except (ValueError, pygit2.GitError) as error:
            raise UnusableError(f"the tree {oid} cannot be read: {error}") from error
        if kind != pygit2.enums.ObjectType.TREE:
            raise UnusableError(f"the object {oid} is not a tree")
        return data


# The end of one run is the beginning of the next: most often both have been parsed.
@lru_cache(maxsize=8)
def _parse(raw: bytes) -> Tree:
    entries = _ENTRY.findall(raw)
    return {name: TreeEntry(int(mode, 8), inner.hex()) for mode, name, inner in entries}


def _by_directory(edits: Edits) -> dict[bytes, dict[bytes, TreeEntry | None]]:
    """Group edits by directory, parents first."""
    result: dict[bytes, dict[bytes, TreeEntry | None]] = {b"": {}}
    for path in edits:
        result |= {parent: {} for parent in parents(path) if parent not in result}
    for path, entry in edits.items():
        directory, _, name = path.rpartition(b"/")
        result[directory][name] = entry
    return result


def _files_edited(tree: Tree, edits: Edits) -> Tree:
    result = dict(tree)
    for name, entry in edits.items():
        there = result.get(name)
        if entry is not None:
            result[name] = entry
        elif there is not None and there.mode != DIRECTORY:
            del result[name]
    return result


def _render(tree: Tree) -> bytes:
    """Serialize entries in git's order, in which a directory's name ends with a slash."""

    def place(item: tuple[bytes, TreeEntry]) -> bytes:
        name, entry = item
        return name + b"/" if entry.mode == DIRECTORY else name

    parts = (
        b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.oid))
        for name, entry in sorted(tree.items(), key=place)
    )
    return b"".join(parts)


def parents(path: bytes) -> Iterable[bytes]:
    """Return every directory above ``path`` except the top, shortest first."""
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)
