"""Git trees as plain values: names are bytes, an entry is a mode and an object id.

They are read and written as raw objects: names may hold any bytes but NUL and slash, and the tree types of
libgit2 only offer text.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.repository import Repository, open_libgit2
from git_blackbird.model.base.system import HIDDEN

if TYPE_CHECKING:
    import pygit2

# What HFS+ does not see in a name, as in git's core.protectHFS.
_UNSEEN = dict.fromkeys([*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
# What ends a name for NTFS, as in git's core.protectNTFS.
_NTFS_ENDS = re.compile(r"[\\:]")
_GIT_NAMES = frozenset({".git", "git~1"})
_OUTSIDE = frozenset({b"", b".", b".."})
# What is ours at the top of a worktree, which no change has.
OURS = tuple(map(os.fsencode, HIDDEN))
# In small letters: some file systems know no others.
_STATE = frozenset(name.lower() for name in OURS)
_MODULES = b".gitmodules"
_RESERVED_LENGTHS = frozenset(map(len, (*_STATE, _MODULES)))


def is_unsafe(name: bytes) -> bool:
    """Whether an entry's name leads out of its folder, or is that of a git directory on some file system."""
    if name in _OUTSIDE or b"/" in name:
        return True
    if b"git" not in name.lower() and name.isascii():
        return False
    seen = name.decode(errors="surrogateescape").translate(_UNSEEN).lower()
    return any(part.rstrip(" .") in _GIT_NAMES for part in _NTFS_ENDS.split(seen))


def is_reserved(name: bytes, *, is_link: bool) -> bool:
    """Whether an entry at the top is no part of any change: state, plan, a link to a list of submodules."""
    known = name.lower()
    return known in _STATE or (known == _MODULES and is_link)


DIRECTORY = 0o040000
SUBMODULE = 0o160000
REGULAR = 0o100644
EXECUTABLE = 0o100755
LINK = 0o120000
_ENTRY = re.compile(rb"0*([0-7]+) ([^\0]*)\0(.{20})", re.DOTALL)
_WHOLE = re.compile(rb"(?:[0-7]+ [^\0]*\0.{20})*+", re.DOTALL)
_DIRECTORY_MODE = b"%o" % DIRECTORY
_LINK_MODE = b"%o" % LINK


class MissingObjectError(UnusableError):
    """The repository does not have an object that others in it refer to."""


class TreeEntry(NamedTuple):
    """A tree entry: the mode as git writes it, and the object's id in hex."""

    mode: int
    oid: str


Tree = Mapping[bytes, TreeEntry]
Edits = Mapping[bytes, TreeEntry | None]
# A tree as it is in its object, since of a wide one few entries are looked at: mode and raw id, by name.
_Row = tuple[bytes, bytes]
_Rows = Mapping[bytes, _Row]


class TreeStore:
    """Read trees of one repository, each once, and write new ones."""

    def __init__(self, repo: Repository) -> None:
        self.objects: pygit2.Repository = open_libgit2(repo)
        self._seen: dict[str, _Rows] = {}

    def __contains__(self, oid: str) -> bool:
        """Whether the repository has this object; then it also has the objects that this one refers to."""
        return self._known(oid) is not None or oid in self.objects

    def _known(self, oid: str) -> _Rows | None:
        """Return a tree that this process knows, if the repository still has it."""
        rows = _recent(oid).rows
        return rows if rows is not None and self.objects.odb.exists(oid) else None

    def load(self, oid: str) -> Tree:
        """Return the entries of one tree. Raises UnusableError if there is no such tree."""
        return {name: _entry(row) for name, row in self._load(oid).items()}

    def _load(self, oid: str) -> _Rows:
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        if (known := self._seen.get(oid) or self._known(oid)) is not None:
            self._seen[oid] = known
            return known
        try:
            kind, data = self.objects.read(pygit2.Oid(hex=oid))
        except KeyError as error:
            raise MissingObjectError(f"the tree {oid} is not in this repository") from error
        except (ValueError, pygit2.GitError) as error:
            raise UnusableError(f"the tree {oid} cannot be read: {error}") from error
        if kind != pygit2.enums.ObjectType.TREE:
            raise UnusableError(f"the object {oid} is not a tree")
        if _WHOLE.fullmatch(data) is None:
            raise UnusableError(f"the tree {oid} cannot be read: it is no list of entries")
        return self._remembered(oid, {name: (mode, raw) for mode, name, raw in _ENTRY.findall(data)})

    def _remembered(self, oid: str, rows: _Rows) -> _Rows:
        self._seen[oid] = _recent(oid).rows = rows
        return rows

    def is_sound(self, oid: str) -> bool:
        """Whether an object can be read and has the content that its id is made of."""
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        try:
            self.objects.read(pygit2.Oid(hex=oid))
        except (KeyError, ValueError, pygit2.GitError):
            return False
        return True

    def content(self, oid: str, most: int) -> bytes:
        """Return the content of a file of at most so many bytes. Raises UnusableError."""
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        found = self.objects.get(oid)
        if found is None:
            raise MissingObjectError(f"the file {oid} is not in this repository")
        if not isinstance(found, pygit2.Blob) or found.size > most:
            raise UnusableError(f"the object {oid} is no file of at most {most} bytes")
        return found.data

    def save(self, tree: Tree) -> str:
        """Write one tree and return its id. Raises UnusableError if the repository cannot be written."""
        return self._save({name: _row(entry) for name, entry in tree.items()})

    def _save(self, rows: _Rows) -> str:
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        # In git's order, in which a directory's name ends with a slash.
        places = {
            name + b"/" if mode == _DIRECTORY_MODE else name: (mode, name, oid)
            for name, (mode, oid) in rows.items()
        }
        data = b"".join([b"%b %b\0%b" % places[place] for place in sorted(places)])
        oid = self._write(pygit2.enums.ObjectType.TREE, data)
        self._remembered(oid, rows)
        return oid

    def save_file(self, content: bytes) -> str:
        """Write the content of a file and return its id. Raises as ``save`` does."""
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        return self._write(pygit2.enums.ObjectType.BLOB, content)

    def _write(self, kind: "pygit2.enums.ObjectType", data: bytes) -> str:
        from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

        try:
            return str(self.objects.write(kind, data))
        except (OSError, pygit2.GitError) as error:
            raise UnusableError(
                f"cannot write to {self.objects.path}: {error}", hint="make room or make it writable"
            ) from error

    def entry(self, oid: str, path: bytes) -> TreeEntry | None:
        """Return the entry of the tree ``oid`` at ``path``; None if there is none or it is a directory."""
        *parents, name = path.split(b"/")
        rows = self._load(oid)
        for parent in parents:
            below = _directory(rows.get(parent))
            if below is None:
                return None
            rows = self._load(below)
        row = rows.get(name)
        return None if row is None or row[0] == _DIRECTORY_MODE else _entry(row)

    def reserved(self, oid: str) -> set[bytes]:
        rows = self._load(oid)
        candidates = [name for name in rows if len(name) in _RESERVED_LENGTHS]
        return {name for name in candidates if is_reserved(name, is_link=rows[name][0] == _LINK_MODE)}

    def without(self, oid: str, names: Iterable[bytes]) -> str:
        top, left_away = self._load(oid), set(names)
        if top.keys().isdisjoint(left_away):
            return oid
        return self._save({name: row for name, row in top.items() if name not in left_away})

    def changed_paths(self, base: str, head: str) -> Iterator[bytes]:
        """Return every path where two trees differ. Raises UnusableError for a name that no file may have."""
        pair = _recent(base, head)
        if pair.paths is None or base not in self or head not in self:
            pair.paths = tuple(self._changed_paths(base, head))
        return iter(pair.paths)

    def _changed_paths(self, base: str, head: str) -> Iterator[bytes]:
        pending: list[tuple[bytes, str | None, str | None]] = [(b"", base, head)]
        while pending:
            prefix, old, new = pending.pop()
            before, after = (self._load(oid) if oid is not None else {} for oid in (old, new))
            differing = [name for name, row in after.items() if before.get(name) != row]
            for name in chain(differing, before.keys() - after.keys()):
                if is_unsafe(name):
                    raise UnusableError(f"the trees {base} and {head} name what no file may be: {name!a}")
                sides = before.get(name), after.get(name)
                below = [_directory(row) for row in sides]
                if any(below):
                    pending.append((prefix + name + b"/", below[0], below[1]))
                if any(row and row[0] != _DIRECTORY_MODE for row in sides):
                    yield prefix + name

    def digest(self, oid: str, named: re.Pattern[str]) -> str:
        """Return a digest of what a tree has at paths, in a folder that is named all; "" for nothing."""
        found, pending = [], [(b"", oid)]
        while pending:
            prefix, folder = pending.pop()
            for name, row in self._load(folder).items():
                path, below = prefix + name, _directory(row)
                if named.fullmatch(os.fsdecode(path)):
                    found.append((path, row))
                elif below is not None:
                    pending.append((path + b"/", below))
        return hashlib.sha256(repr(sorted(found)).encode()).hexdigest()[:40] if found else ""

    def edited(self, oid: str, edits: Edits) -> str:
        """Write the tree ``oid`` with each path of ``edits`` set, or removed if the value is None.

        A file that is set replaces a directory of its name, and the other way round. Removing applies to
        files only. The paths to set must not lie under one another. Empty directories disappear.
        """
        # Parents first.
        by_directory: dict[bytes, dict[bytes, TreeEntry | None]] = {b"": {}}
        for path in edits:
            by_directory |= {parent: {} for parent in parents(path) if parent not in by_directory}
        for path, entry in edits.items():
            directory, _, name = path.rpartition(b"/")
            by_directory[directory][name] = entry
        before: dict[bytes, _Rows] = {b"": self._load(oid)}
        for directory in filter(None, by_directory):
            above, _, name = directory.rpartition(b"/")
            below = _directory(before[above].get(name))
            before[directory] = {} if below is None else self._load(below)
        # Deepest first and without recursion, because paths can be very deep.
        finished: dict[bytes, dict[bytes, _Rows]] = {}
        rows: dict[bytes, _Row] = {}
        for directory in reversed(by_directory):
            rows = dict(before[directory])
            for name, inner in finished.pop(directory, {}).items():
                if inner:
                    rows[name] = _DIRECTORY_MODE, bytes.fromhex(self._save(inner))
                elif _directory(rows.get(name)) is not None:
                    del rows[name]
            for name, entry in by_directory[directory].items():
                if entry is not None:
                    rows[name] = _row(entry)
                elif name in rows and rows[name][0] != _DIRECTORY_MODE:
                    del rows[name]
            above, _, name = directory.rpartition(b"/")
            finished.setdefault(above, {})[name] = rows
        return self._save(rows)


class _Recent:
    rows: _Rows | None = None
    paths: tuple[bytes, ...] | None = None


# The end of one run is the beginning of the next, a wide tree takes long to read, and several ask about the
# change of a run when it ends.
@lru_cache(maxsize=20)
def _recent(*oids: str) -> _Recent:  # noqa: ARG001  # what the cache goes by
    """Return what is known of a tree: its rows; or of two, the paths where they differ."""
    return _Recent()


def _entry(row: _Row) -> TreeEntry:
    mode, oid = row
    return TreeEntry(int(mode, 8), oid.hex())


def _row(entry: TreeEntry) -> _Row:
    return b"%o" % entry.mode, bytes.fromhex(entry.oid)


def _directory(row: _Row | None) -> str | None:
    return None if row is None or row[0] != _DIRECTORY_MODE else row[1].hex()


def parents(path: bytes) -> Iterable[bytes]:
    at = path.find(b"/")
    while at >= 0:
        yield path[:at]
        at = path.find(b"/", at + 1)
