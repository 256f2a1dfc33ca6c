"""What files are if some recorded work is left out, and what part of a commit is a person's."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.both_added import resolve_additions
from git_blackbird.git.change.merging import Sides, apply_sides, sides_of
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.moves import PastMove, Recorded, WorkId
from git_blackbird.model.run.summary import Trees

_Entries = dict[bytes, TreeEntry | None]
IsIn = Callable[[WorkId, bytes], bool]


class Replayed(NamedTuple):
    """What each path is then, and whose moves do not apply there without what was left out; None is a person.

    What does not apply is left out as well.
    """

    entries: Mapping[bytes, TreeEntry | None]
    stuck: Mapping[bytes, frozenset[WorkId | None]]


class Replay:
    """Recorded moves, oldest first, as far as they are about these paths and their trees are there.

    Between two moves the worktree is a person's, and what they did is in every replay. One that has come to
    what the worktree was before a move of work goes on to what it was after it; into any other it merges what
    was made.
    """

    def __init__(self, repo: Repository, moves: Iterable[PastMove], paths: Collection[bytes]) -> None:
        self._repo = repo
        self._trees = TreeStore(repo)
        read = ((move, self._read(move, frozenset(paths))) for move in moves)
        self._steps = [(move, sides) for move, sides in read if sides[0] or sides[1]]

    def _read(self, move: PastMove, paths: frozenset[bytes]) -> tuple[Sides, Sides]:
        """Return the sides of the worktree, and those of what was made, at the paths that either changes."""
        pairs = move.trees, move.made
        try:
            found = {path for pair in pairs for path in self._trees.changed_paths(*pair)} & paths
            there, made = ({path: self._sides(pair, path) for path in found} for pair in pairs)
        except UnusableError:
            return {}, {}
        return there, made

    def _sides(self, pair: Trees, path: bytes) -> tuple[TreeEntry | None, TreeEntry | None]:
        return self._trees.entry(pair.base, path), self._trees.entry(pair.head, path)

    def makers(self, path: bytes) -> frozenset[WorkId]:
        return frozenset[WorkId]().union(
            *(
                move.works
                for move, (_, made) in self._steps
                if path in made and made[path][0] != made[path][1]
            )
        )

    def run(self, is_in: IsIn) -> Replayed:
        """Return the files with the works that ``is_in`` has at a path, and with all that people did."""
        now, real = _Entries(), _Entries()
        stuck: defaultdict[bytes, frozenset[WorkId | None]] = defaultdict(frozenset)

        def note(edits: _Entries, left: Iterable[bytes], who: Collection[WorkId | None]) -> None:
            now.update({path: entry for path, entry in edits.items() if path not in left})
            for path in left:
                stuck[path] |= frozenset(who)

        for move, (there, made) in self._steps:
            sides = self._committed(real, made) if move.is_commit else there
            before, after = ({path: both[side] for path, both in sides.items()} for side in (0, 1))
            for path, entry in before.items():
                now.setdefault(path, entry)
            # A person's lines come first in a landing and in an undo, and so they do here.
            replayed = {path: (real.get(path, entry), now[path]) for path, entry in before.items()}
            edits, left = self.applied(before, replayed)
            note({**before, **edits}, left, [None])
            work = {
                path: both if now[path] == both[0] else made[path]
                for path, both in sides.items()
                if any(is_in(work, path) for work in move.works)
            }
            note(*self.applied(now, work), move.works)
            real.update(after)
        return Replayed(now, stuck)

    def _committed(self, real: _Entries, made: Sides) -> Sides:
        """Return what the worktree was without a person's commit and with it: it may have had more."""
        before = {path: real.get(path, sides[0]) for path, sides in made.items()}
        edits, left = self.applied(before, made)
        after = {path: made[path][1] if path in left else edits.get(path, before[path]) for path in made}
        return {path: (before[path], after[path]) for path in made}

    def applied(
        self, now: Mapping[bytes, TreeEntry | None], change: Sides
    ) -> tuple[dict[bytes, TreeEntry | None], dict[bytes, str]]:
        """Return what a change makes of these files, and the paths to which it does not apply, and why."""
        return apply_sides(self._repo, self._trees, now.get, change, resolve_additions)

    def made_of(self, path: bytes, work: WorkId) -> list[tuple[TreeEntry | None, TreeEntry | None]]:
        """Return what the moves of a work made of a path, oldest first."""
        return [made[path] for move, (_, made) in self._steps if work in move.works and path in made]


_Files = Mapping[bytes, TreeEntry | None]
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

    def _beyond(self, parent: _Files, recorded: Sequence[Recorded]) -> Sequence[tuple[Recorded, Sides]]:
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

    def _has(self, entries: _Files, path: bytes, both: _Both) -> bool:
        """Whether a file has a change whole: taken out and put back in, it is as it was."""
        before, after = both
        without, left = self._applied(entries, {path: (after, before)})
        if left or without.get(path, entries[path]) == entries[path]:
            return False
        again, left = self._applied(without, {path: both})
        return not left and again.get(path) == entries[path]

    def _applied(self, entries: _Files, change: Sides) -> tuple[dict[bytes, TreeEntry | None], set[bytes]]:
        edits, left = apply_sides(self._repo, self._trees, entries.get, change, resolve_additions)
        return edits, set(left)
