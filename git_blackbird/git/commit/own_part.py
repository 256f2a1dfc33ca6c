"""The part of a commit that is a person's own work, where it also has what agents made before."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.both_added import resolve_additions
from git_blackbird.git.change.merging import Sides, apply_sides, sides_of
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.moves import Recorded
from git_blackbird.model.run.summary import Trees

_Entries = Mapping[bytes, TreeEntry | None]
_Both = tuple[TreeEntry | None, TreeEntry | None]


class OwnPart(NamedTuple):
    """The own part as a change to the tree of the commit, and the tasks whose changes it leaves out.

    At ``mixed`` paths the lines of both meet: there it has all that was committed.
    """

    trees: Trees
    others: frozenset[TaskId] = frozenset()
    mixed: frozenset[bytes] = frozenset()


def own_part(repo: Repository, commit: Trees, recorded: Sequence[Recorded]) -> OwnPart:
    """Return what a commit has beyond its parent and beyond what was ``recorded``, oldest first.

    Both sides are taken without the latter, since either may have some of it. Raises UnusableError.
    """
    return _Subtraction(repo, commit).perform(recorded)


class _Subtraction:
    def __init__(self, repo: Repository, commit: Trees) -> None:
        self._repo = repo
        self._trees = TreeStore(repo)
        self._commit = commit
        self._sides = sides_of(self._trees, commit)

    def perform(self, recorded: Sequence[Recorded]) -> OwnPart:
        parent, there = ({path: sides[side] for path, sides in self._sides.items()} for side in (0, 1))
        without_parent, without_there = dict(parent), dict(there)
        taken, mixed = dict[bytes, set[TaskId]](), set[bytes]()
        for one, sides in reversed(self._beyond(parent, recorded)):
            back = {path: (after, before) for path, (before, after) in sides.items()}
            at_parent, refused = self._applied(without_parent, back)
            at_commit, left = self._applied(without_there, back)
            found = refused | left | (at_parent.keys() & at_commit.keys())
            has = {path for path in found if self._has(without_parent, path, sides[path])}
            mixed |= (refused | left) - has
            for path in at_commit.keys() - has:
                taken.setdefault(path, set()).add(one.task_id)
            # On what the parent has whole the commit may build.
            built_on = left & has
            without_parent |= {path: entry for path, entry in at_parent.items() if path not in built_on}
            without_there |= at_commit
        own = {path: (without_there[path], without_parent[path]) for path in self._sides.keys() - mixed}
        edits, left = self._applied(there, own)
        mixed |= left
        base = {**there, **edits, **{path: parent[path] for path in mixed}}
        trees = Trees(self._trees.edited(self._commit.head, base), self._commit.head)
        others = frozenset[TaskId]().union(*(tasks for path, tasks in taken.items() if path not in mixed))
        return OwnPart(trees, others, frozenset(mixed))

    def _beyond(self, parent: _Entries, recorded: Sequence[Recorded]) -> Sequence[tuple[Recorded, Sides]]:
        """Return what was recorded at paths of the commit after the parent had them just so."""
        found: list[tuple[Recorded, dict[bytes, _Both]]] = []
        for one in recorded:
            sides = dict(self._read(one))
            # A commit may lack what was in the worktree before it.
            for path in [path for path, both in sides.items() if parent[path] in both and not one.is_commit]:
                for _, earlier in found:
                    earlier.pop(path, None)
                if parent[path] == sides[path][1]:
                    del sides[path]
            found.append((one, sides))
        return found

    def _read(self, one: Recorded) -> Sides:
        try:
            sides = sides_of(self._trees, one.trees)
        except UnusableError:  # its trees are gone
            return {}
        return {path: both for path, both in sides.items() if path in self._sides and one.is_there(path)}

    def _has(self, entries: _Entries, path: bytes, both: _Both) -> bool:
        """Whether a file has a change whole: taken out and put back in, it is as it was."""
        before, after = both
        without, left = self._applied(entries, {path: (after, before)})
        if left or without.get(path, entries[path]) == entries[path]:
            return False
        again, left = self._applied(without, {path: both})
        return not left and again.get(path) == entries[path]

    def _applied(self, entries: _Entries, change: Sides) -> tuple[dict[bytes, TreeEntry | None], set[bytes]]:
        edits, left = apply_sides(self._repo, self._trees, entries.get, change, resolve_additions)
        return edits, set(left)
