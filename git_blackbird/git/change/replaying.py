"""The files that recorded moves of a worktree give if some of the work in them is left out."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from git_blackbird.errors import UnusableError
from git_blackbird.git.change.both_added import resolve_additions
from git_blackbird.git.change.merging import Sides, apply_sides
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.change.moves import Move, WorkId
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

    def __init__(self, repo: Repository, moves: Iterable[Move], paths: Collection[bytes]) -> None:
        self._repo = repo
        self._trees = TreeStore(repo)
        read = ((move, self._read(move, frozenset(paths))) for move in moves)
        self._steps = [(move, sides) for move, sides in read if sides[0] or sides[1]]

    def _read(self, move: Move, paths: frozenset[bytes]) -> tuple[Sides, Sides]:
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
        """Return the works that made something of a path."""
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
