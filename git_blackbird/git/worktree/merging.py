"""Merge on objects alone: changes into a tree, path by path, or whole trees as git merges branches."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.linked import commit_of
from git_blackbird.model.entities.change import TreePair

_OVERLAPS = "later edits overlap with it"
_REPOSITORY = "it is or was a repository of its own"
_NOTHING: Mapping[bytes, str] = MappingProxyType({})
_IN_THE_WAY = "another file or folder is in its place"


@dataclass(frozen=True)
class Merged:
    """A tree with changes brought into it, and the paths that stayed as they were, each with the reason."""

    tree: str
    left: Mapping[bytes, str]


def merge_changes(
    repo: Repository,
    tree: str,
    changes: Iterable[TreePair],
    unknown: Mapping[bytes, str] = MappingProxyType({}),
    written: Collection[bytes] = frozenset(),
) -> Merged:
    """Apply changes to a tree, one after the other; a path where one does not apply stays as it was.

    So do paths that the tree does not have as they are, ``unknown``, each with the reason. What differs at
    ``written`` paths, which had been brought to the changes before, is an edit of what they are.
    Raises UnusableError if an object is missing or cannot be written.
    """
    merge = _Merge(repo, TreeStore(repo), tree)
    for change in changes:
        merge.apply(change, unknown, written)
    return merge.result()


def with_attempt(repo: Repository, pair: TreePair, attempt: TreePair) -> TreePair:
    """Return a pair of trees that also has what an earlier attempt changed, as that had it."""
    trees = TreeStore(repo)
    paths = list(trees.changed_paths(*attempt))
    base, head = (
        trees.edited(tree, {path: trees.entry(side, path) for path in paths})
        for tree, side in zip(pair, attempt, strict=True)
    )
    return TreePair(base, head)


@dataclass
class _Merge:
    repo: Repository
    trees: TreeStore
    tree: str
    edits: dict[bytes, TreeEntry | None] = field(default_factory=dict)
    left: dict[bytes, str] = field(default_factory=dict)

    def entry(self, path: bytes) -> TreeEntry | None:
        return self.edits[path] if path in self.edits else self.trees.entry(self.tree, path)

    def apply(self, change: TreePair, unknown: Mapping[bytes, str], written: Collection[bytes]) -> None:
        both: dict[bytes, tuple[TreeEntry | None, ...]] = {}
        for path in sorted(self.trees.changed_paths(*change)):
            before, after = (self.trees.entry(side, path) for side in change)
            now = self.entry(path)
            if path in unknown:
                self.left[path] = unknown[path]
                continue
            if now == after:
                continue
            if SUBMODULE in {entry.mode for entry in (before, now, after) if entry is not None}:
                self.left[path] = _REPOSITORY
            elif now == before:
                self.edits[path] = after
            elif path not in written:
                both[path] = before, now, after
        merged = merge_entries(self.repo, self.trees, both)
        self.edits |= merged
        self.left |= dict.fromkeys(both.keys() - merged.keys(), _OVERLAPS)

    def result(self) -> Merged:
        edits = {path: entry for path, entry in self.edits.items() if path not in self.left}
        while obstructed := set(self._obstructed(edits)):
            self.left |= dict.fromkeys(obstructed, _IN_THE_WAY)
            edits = {path: entry for path, entry in edits.items() if path not in obstructed}
        return Merged(self.trees.edited(self.tree, edits), self.left)

    def _obstructed(self, edits: Mapping[bytes, TreeEntry | None]) -> Iterator[bytes]:
        """Find edits that would displace a file they do not name, as a file does a folder of its name."""
        if not edits:
            return
        displaced = (
            set(self.trees.changed_paths(self.tree, self.trees.edited(self.tree, edits))) - edits.keys()
        )
        above = {parent for path in displaced for parent in parents(path)}
        for path, entry in edits.items():
            if entry is not None and (path in above or not displaced.isdisjoint(parents(path))):
                yield path


def merge_entries(
    repo: Repository, trees: TreeStore, versions: Mapping[bytes, Sequence[TreeEntry | None]]
) -> dict[bytes, TreeEntry | None]:
    """Merge the ancestor, our and their version of each path as git does; conflicting ones are left out."""
    if not versions:
        return {}
    import pygit2  # noqa: PLC0415 - loaded by now

    paths, empty = list(versions), trees.save({})
    # By number: no path of one is in the way of another, and none is found to be renamed.
    ancestor, ours, theirs = (
        trees.edited(empty, {b"%d" % place: versions[path][side] for place, path in enumerate(paths)})
        for side in range(3)
    )
    with using_objects(repo):
        index = trees.objects.merge_trees(ancestor, ours, theirs, flags=pygit2.enums.MergeFlag(0))
        in_conflict = {
            side.path for conflict in index.conflicts or () for side in conflict if side is not None
        }
        merged = {entry.path: TreeEntry(int(entry.mode), str(entry.id)) for entry in index}
    return {path: merged.get(str(place)) for place, path in enumerate(paths) if str(place) not in in_conflict}


_WITHOUT_MERGE_TREE = "git merge-tree --stdin, which git has from version 2.39 on"


class GitTooOldError(UnusableError):
    """The installed git cannot merge trees."""

    def __init__(self) -> None:
        super().__init__(f"this needs {_WITHOUT_MERGE_TREE}", hint="leave --jobs and --worktrees out")


@dataclass(frozen=True)
class TreeMerge:
    """The tree that git's merge of two trees makes; where they conflict, files have git's markers.

    ``conflicts`` are the paths, ``unmerged`` the lines of git's index for them, ``messages`` what git says.
    """

    tree: str
    conflicts: tuple[bytes, ...] = ()
    unmerged: tuple[bytes, ...] = ()
    messages: tuple[str, ...] = ()


# The search paths on which a git was found that merges trees: one start less for each task.
_known_paths: set[str | None] = set()


def require_merge_tree(repo: Repository) -> None:
    """Raise GitTooOldError where the installed git cannot merge trees."""
    path = repo.environ.get("PATH")
    if path not in _known_paths:
        if repo.git("merge-tree", "--write-tree", "--stdin", stdin=b"", check=False).code != 0:
            raise GitTooOldError
        _known_paths.add(path)


def merge_trees(repo: Repository, base: str, sides: Iterable[tuple[str, str]]) -> list[TreeMerge]:
    """Merge each pair of trees, ours and theirs, that began as ``base``; renames are followed.

    Raises GitError, GitTooOldError.
    """
    began = commit_of(repo, base, (), "base", 0)
    pairs = [
        [
            commit_of(repo, tree, (began,), name, 0)
            for tree, name in zip(pair, ("ours", "theirs"), strict=True)
        ]
        for pair in sides
    ]
    stdin = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
    command = ("merge-tree", "--write-tree", "--stdin")
    completed = repo.git(*command, stdin=stdin, check=False)
    if completed.code != 0:
        require_merge_tree(repo)
        raise GitError(command, completed.code, completed.err)
    return completed.records(lambda fields: _read_merges(fields, len(pairs)))


def _read_merges(fields: list[bytes], count: int) -> list[TreeMerge]:
    rest = iter(fields)
    merges = [_read_merge(rest) for _ in range(count)]
    if any(True for _ in rest):
        raise ValueError("more than was asked for")
    return merges


def _read_merge(fields: Iterator[bytes]) -> TreeMerge:
    """Read one merge: whether it is clean, the tree, and of a conflict its paths and messages."""
    is_clean, tree = next(fields) == b"1", next(fields).decode()
    unmerged = tuple(iter(lambda: next(fields), b""))
    if is_clean:
        return TreeMerge(tree)
    messages = []
    while count := next(fields):
        # The paths and the kind of a message come before its text.
        *_, text = [next(fields) for _ in range(int(count) + 2)]
        messages.append(text.decode(errors="replace").rstrip("\n"))
    paths = (line.partition(b"\t")[2] for line in unmerged)
    return TreeMerge(tree, tuple(dict.fromkeys(paths)), unmerged, tuple(messages))
