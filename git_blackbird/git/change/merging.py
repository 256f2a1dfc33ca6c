"""Merge on objects alone: changes into a tree, path by path, or whole trees as git merges branches."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from git_blackbird.errors import UnusableError
from git_blackbird.git.core.config import read_config
from git_blackbird.git.core.process import GitError
from git_blackbird.git.core.repository import Repository, using_objects
from git_blackbird.git.core.trees import SUBMODULE, TreeEntry, TreeStore, parents
from git_blackbird.git.worktree.base_commits import write_commit
from git_blackbird.git.worktree.comparing import merge_drivers
from git_blackbird.model.run.summary import Trees

OVERLAPS = "later edits overlap with it"
_REPOSITORY = "it is or was a repository of its own"
_NOTHING: Mapping[bytes, str] = MappingProxyType({})
_IN_THE_WAY = "another file or folder is in its place"
_NO_RENAMES = ("-c", "merge.renames=false")
# The kinds of git's messages on merging lines.
_MERGING, _IN_CONTENT = b"Auto-merging", b"CONFLICT (contents)"
_OURS, _SIDES = 2, 3


@dataclass(frozen=True)
class TreeMerge:
    """The tree that git's merge of two trees makes; where they conflict, files have git's markers.

    ``conflicts`` are the paths, ``unmerged`` the lines of git's index for them, ``messages`` what git says.
    ``in_content`` are the paths that conflict in their lines alone. ``both_added`` is git's merge where this
    has what both sides added in each of its conflicts.
    """

    tree: str
    conflicts: tuple[bytes, ...] = ()
    unmerged: tuple[bytes, ...] = ()
    messages: tuple[str, ...] = ()
    in_content: frozenset[bytes] = frozenset()
    both_added: "TreeMerge | None" = None

    def sides(self) -> dict[bytes, dict[int, TreeEntry]]:
        """Return what each path in conflict is in the ancestor (1), in ours (2) and in theirs (3)."""
        found: dict[bytes, dict[int, TreeEntry]] = defaultdict(dict)
        for line in self.unmerged:
            facts, _, path = line.partition(b"\t")
            mode, oid, stage = facts.split()
            found[path][int(stage)] = TreeEntry(int(mode, 8), oid.decode())
        return dict(found)


@dataclass(frozen=True)
class Merged:
    """A tree with changes brought into it, and the paths that stayed as they were, each with the reason."""

    tree: str
    left: Mapping[bytes, str]


# What changes, by path: what is there before it and after it.
Sides = Mapping[bytes, tuple[TreeEntry | None, TreeEntry | None]]
# What paths in conflict are to be all the same, where that is known.
Resolver = Callable[[Repository, TreeMerge], Mapping[bytes, TreeEntry]]


def nothing_resolved(_repo: Repository, _merge: TreeMerge) -> Mapping[bytes, TreeEntry]:
    return {}


def sides_of(trees: TreeStore, change: Trees) -> Sides:
    before, after = change
    return {
        path: (trees.entry(before, path), trees.entry(after, path)) for path in trees.changed_paths(*change)
    }


def merge_sides(
    repo: Repository,
    tree: str,
    changes: Iterable[Sides],
    unknown: Mapping[bytes, str] = _NOTHING,
    written: Collection[bytes] = frozenset(),
    resolve: Resolver = nothing_resolved,
) -> Merged:
    """Apply changes to a tree in order; a path to which one does not apply stays as it was.

    ``unknown`` paths, whose content the tree does not have, stay too, each with its reason. ``written`` paths
    have had the changes before, so that a difference there is a later edit. ``resolve`` may resolve some.
    Raises UnusableError if an object is missing or cannot be written.
    """
    trees = TreeStore(repo)
    edits: dict[bytes, TreeEntry | None] = {}
    left: dict[bytes, str] = {}

    def now(path: bytes) -> TreeEntry | None:
        return edits[path] if path in edits else trees.entry(tree, path)

    for change in changes:
        left |= {path: why for path, why in unknown.items() if path in change}
        due = {
            path: sides
            for path, sides in change.items()
            if path not in unknown and not (path in written and now(path) != sides[0])
        }
        made, stays = apply_sides(repo, trees, now, due, resolve)
        edits |= made
        left |= stays
    merged = make_edits(trees, tree, {path: entry for path, entry in edits.items() if path not in left})
    return Merged(merged.tree, {**left, **merged.left})


def make_edits(trees: TreeStore, tree: str, edits: Mapping[bytes, TreeEntry | None]) -> Merged:
    """Set paths of a tree, without those that would displace a file that is not named."""
    left: dict[bytes, str] = {}
    while obstructed := set(_obstructed(trees, tree, edits)):
        left |= dict.fromkeys(obstructed, _IN_THE_WAY)
        edits = {path: entry for path, entry in edits.items() if path not in obstructed}
    return Merged(trees.edited(tree, edits), left)


def _obstructed(trees: TreeStore, tree: str, edits: Mapping[bytes, TreeEntry | None]) -> Iterator[bytes]:
    """Find edits that would displace a file they do not name, as a file does a folder of its name."""
    if not edits:
        return
    displaced = set(trees.changed_paths(tree, trees.edited(tree, edits))) - edits.keys()
    above = {parent for path in displaced for parent in parents(path)}
    for path, entry in edits.items():
        if entry is not None and (path in above or not displaced.isdisjoint(parents(path))):
            yield path


def apply_sides(
    repo: Repository,
    trees: TreeStore,
    now: Callable[[bytes], TreeEntry | None],
    change: Sides,
    resolve: Resolver,
) -> tuple[dict[bytes, TreeEntry | None], dict[bytes, str]]:
    """Return what a change makes of each path, and the paths to which it does not apply, with the reason."""
    edits: dict[bytes, TreeEntry | None] = {}
    left: dict[bytes, str] = {}
    both: dict[bytes, tuple[TreeEntry | None, ...]] = {}
    for path, (before, after) in sorted(change.items()):
        present = now(path)
        modes = {None if entry is None else entry.mode for entry in (before, present, after)}
        if after in {present, before}:
            continue
        if SUBMODULE in modes and modes != {SUBMODULE}:
            left[path] = _REPOSITORY
        elif present == before:
            edits[path] = after
        else:
            both[path] = before, present, after
    if not both:
        return edits, left
    merge = _merge_versions(repo, trees, both)
    merged = {**_clean_entries(trees, both, merge), **resolve(repo, merge)}
    left |= dict.fromkeys(both.keys() - merged.keys(), OVERLAPS)
    left |= {path: why for path, why in failed_drivers(repo, merge).items() if path in left}
    return {**edits, **merged}, left


def with_earlier_attempt(repo: Repository, pair: Trees, attempt: Trees) -> Trees:
    """Return a pair of trees that also has what an earlier attempt changed."""
    trees = TreeStore(repo)
    paths = list(trees.changed_paths(*attempt))
    base, head = (
        trees.edited(tree, {path: trees.entry(side, path) for path in paths})
        for tree, side in zip(pair, attempt, strict=True)
    )
    return Trees(base, head)


def merge_entries(
    repo: Repository, trees: TreeStore, versions: Mapping[bytes, Sequence[TreeEntry | None]]
) -> dict[bytes, TreeEntry | None]:
    """Merge the ancestor, our and their version of each path, which all differ; leave conflicts out."""
    return _clean_entries(trees, versions, _merge_versions(repo, trees, versions))


def _clean_entries(
    trees: TreeStore, paths: Iterable[bytes], merge: TreeMerge
) -> dict[bytes, TreeEntry | None]:
    return {path: trees.entry(merge.tree, path) for path in paths if path not in merge.conflicts}


def _merge_versions(
    repo: Repository, trees: TreeStore, versions: Mapping[bytes, Sequence[TreeEntry | None]]
) -> TreeMerge:
    """Merge trees of only these paths.

    At most one side lacks a path, so no path obstructs another.
    """
    empty = trees.save({})
    if not versions:
        return TreeMerge(empty)
    ancestor, ours, theirs = (
        trees.edited(empty, {path: sides[side] for path, sides in versions.items()}) for side in range(3)
    )
    try:
        (merge,) = merge_trees(repo, ancestor, [(ours, theirs)], _NO_RENAMES)
    except GitTooOldError:
        return _merge_by_libgit2(repo, trees, versions)
    return merge


def _merge_by_libgit2(
    repo: Repository, trees: TreeStore, versions: Mapping[bytes, Sequence[TreeEntry | None]]
) -> TreeMerge:
    """Merge without the user's merge drivers."""
    from git_blackbird.git.core.libgit2 import pygit2  # loaded by now

    paths, empty = list(versions), trees.save({})
    # By number: libgit2 has paths as text.
    ancestor, ours, theirs = (
        trees.edited(empty, {b"%d" % place: versions[path][side] for place, path in enumerate(paths)})
        for side in range(3)
    )
    with using_objects(repo):
        index = trees.objects.merge_trees(ancestor, ours, theirs, flags=pygit2.enums.MergeFlag(0))
        in_conflict = {
            int(side.path) for conflict in index.conflicts or () for side in conflict if side is not None
        }
        merged = {int(entry.path): TreeEntry(int(entry.mode), str(entry.id)) for entry in index}
    clean = {paths[place]: entry for place, entry in merged.items() if place not in in_conflict}
    return TreeMerge(trees.edited(empty, clean), tuple(paths[place] for place in sorted(in_conflict)))


_WITHOUT_MERGE_TREE = "git merge-tree --stdin, which git has from version 2.39 on"


class GitTooOldError(UnusableError):
    def __init__(self) -> None:
        super().__init__(f"this needs {_WITHOUT_MERGE_TREE}", hint="leave --jobs and --worktrees out")


class MergeRefusedError(GitError):
    """Git gave up on a merge, as for a merge driver that has no command, or that a signal ended.

    Which one that was may be in another line than the last.
    """

    def __init__(self, command: Sequence[str], code: int, stderr: bytes) -> None:
        lines = stderr.decode(errors="replace").splitlines()
        words = (line.removeprefix("error: ").removeprefix("fatal: ").strip() for line in lines)
        super().__init__(command, code, stderr, message="; ".join(filter(None, words)))


# The search paths on which a git was found that merges trees: one start less for each task.
_known_paths: set[str | None] = set()


def require_merge_tree(repo: Repository) -> None:
    """Raises GitTooOldError where the installed git cannot merge trees."""
    path = repo.environ.get("PATH")
    if path not in _known_paths:
        if repo.git("merge-tree", "--write-tree", "--stdin", stdin=b"", check=False).code != 0:
            raise GitTooOldError
        _known_paths.add(path)


def merge_trees(
    repo: Repository, base: str, sides: Iterable[tuple[str, str]], options: Iterable[str] = ()
) -> list[TreeMerge]:
    """Merge each pair of trees, ours and theirs, that began as ``base``, with these options of git.

    Renames are followed, and the user's merge drivers run, as the attributes in the worktree say. Raises
    MergeRefusedError, GitTooOldError.
    """
    return merge_bases(repo, ((base, *pair) for pair in sides), options)


def merge_bases(
    repo: Repository, merges: Iterable[tuple[str, str, str]], options: Iterable[str] = ()
) -> list[TreeMerge]:
    """Merge trees as ``merge_trees`` does, each pair with a base of its own, which is named first."""
    pairs = []
    for base, *pair in merges:
        began = write_commit(repo, base, (), "base", 0)
        named = zip(pair, ("ours", "theirs"), strict=True)
        pairs.append([write_commit(repo, tree, (began,), name, 0) for tree, name in named])
    return merge_commits(repo, pairs, options)


def merge_commits(
    repo: Repository, pairs: Sequence[Sequence[str]], options: Iterable[str] = ()
) -> list[TreeMerge]:
    """Merge pairs of commits from where their histories part. Raises as ``merge_trees`` does."""
    stdin = "".join(f"{ours} {theirs}\n" for ours, theirs in pairs).encode()
    command = ("merge-tree", "--write-tree", "--allow-unrelated-histories", "--stdin")
    completed = repo.git(*options, *command, stdin=stdin, check=False)
    if completed.code != 0:
        require_merge_tree(repo)
        raise MergeRefusedError(command, completed.code, completed.err)
    return completed.records(lambda fields: _read_merges(fields, len(pairs)))


def _read_merges(fields: list[bytes], count: int) -> list[TreeMerge]:
    rest = iter(fields)
    merges = [_read_merge(rest) for _ in range(count)]
    if any(True for _ in rest):
        raise ValueError("more than was asked for")
    return merges


def _read_merge(fields: Iterator[bytes]) -> TreeMerge:
    is_clean, tree = next(fields) == b"1", next(fields).decode()
    unmerged = tuple(iter(lambda: next(fields), b""))
    if is_clean:
        return TreeMerge(tree)
    messages: list[str] = []
    kinds: dict[bytes, set[bytes]] = defaultdict(set)
    # Where submodules conflict, lines of advice take the place of what ends the messages.
    while (count := next(fields)) and not count.endswith(b"\n"):
        *about, kind, text = [next(fields) for _ in range(int(count) + 2)]
        messages.append(text.decode(errors="replace").rstrip("\n"))
        for path in about:
            kinds[path] |= {kind} - {_MERGING}
    paths = dict.fromkeys(line.partition(b"\t")[2] for line in unmerged)
    in_content = frozenset(path for path in paths if kinds[path] == {_IN_CONTENT})
    return TreeMerge(tree, tuple(paths), unmerged, tuple(messages), in_content)


def failed_drivers(repo: Repository, merge: TreeMerge) -> dict[bytes, str]:
    """Return the paths in conflict that a merge driver of the user's left as they are in ours, with its name.

    Git takes one that is missing, or ends by a signal, for one that found a conflict.
    """
    trees = TreeStore(repo)
    untouched = [
        path
        for path, sides in merge.sides().items()
        if len(sides) == _SIDES and trees.entry(merge.tree, path) == sides[_OURS]
    ]
    drivers = merge_drivers(repo, untouched)
    configured = read_config(repo).effective if drivers else {}
    return {
        path: f"the merge driver {name} did not merge it: it is missing, or failed"
        for path, name in drivers.items()
        if f"merge.{name}.driver" in configured
    }
