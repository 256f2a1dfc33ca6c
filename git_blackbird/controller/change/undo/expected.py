"""What an undo or a redo is to make of each path: the files as if the work had never been, or always.

*E(S)* are the files that the recorded moves give if they are replayed with the works in S and with all that
people did. Taking work t back is the change from E(S) to E(S without t), bringing it back the other way.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from git_blackbird.git.change.merging import OVERLAPS, Sides, sides_of
from git_blackbird.git.change.replaying import Replay, Replayed
from git_blackbird.git.core.repository import Repository
from git_blackbird.git.core.trees import TreeEntry, TreeStore
from git_blackbird.model.change.moves import Moves, WorkId
from git_blackbird.model.run.summary import Trees

_MAX_NAMED = 8


class Expected(NamedTuple):
    """The changes of single paths, and why others are left; ``shared`` are those that others made the same.

    At ``settled`` paths every work is then where it was to be, also where that was refused before.
    """

    changes: Sequence[Sides]
    left: Mapping[bytes, str]
    shared: Mapping[bytes, str]
    settled: frozenset[bytes]


@dataclass(frozen=True)
class Expectation:
    """One work to undo or redo among the moves of its worktree; ``taken`` is what its last undo did."""

    repo: Repository
    moves: Moves
    work: WorkId
    taken: Trees | None
    is_redo: bool

    @cached_property
    def pairs(self) -> tuple[Trees, ...]:
        """What the work did to the worktree, and what of it was made elsewhere, as this goes."""
        moves = self.moves.of(self.work)
        in_order = moves if self.is_redo else reversed(moves)
        pairs = dict.fromkeys(pair for move in in_order for pair in (move.trees, move.made))
        return tuple(pair if self.is_redo else Trees(pair.head, pair.base) for pair in pairs)

    @cached_property
    def _trees(self) -> TreeStore:
        return TreeStore(self.repo)

    @cached_property
    def _paths(self) -> tuple[bytes, ...]:
        """The paths of the work that still have to change, by the records."""
        changed = {path for pair in self.pairs for path in self._trees.changed_paths(*pair)}
        return tuple(
            sorted(path for path in changed if self.moves.is_there(self.work, path) is not self.is_redo)
        )

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.repo, self.moves.moves, self._paths)

    @cached_property
    def _before(self) -> Replayed:
        return self._replay.run(self.moves.is_there)

    @cached_property
    def _wanted(self) -> Replayed:
        """The files with all works where they were to be, also where that was refused before."""
        return self._replay.run(lambda each, _: self._is_in(each, is_in=self.moves.is_wanted(each)))

    @cached_property
    def _nearest(self) -> Replayed:
        """The files with all other works where they are, which may be where they were to be."""
        runs = self.moves.last_runs.items()
        if not any(run.undone and run.undone.left for work, run in runs if work != self.work):
            return self._wanted
        return self._replay.run(lambda each, path: self._is_in(each, is_in=self.moves.is_there(each, path)))

    def _is_in(self, each: WorkId, *, is_in: bool) -> bool:
        return self.is_redo if each == self.work else is_in

    def find(self) -> Expected:
        """Return what is to be made of the worktree. Raises UnusableError."""
        sides: dict[bytes, tuple[TreeEntry | None, TreeEntry | None]] = {}
        left, shared, unexplained = dict[bytes, str](), dict[bytes, str](), set[bytes]()
        for path in self._paths:
            before, after = self._before, self._wanted
            if path in after.stuck:
                after = self._nearest
            if path not in before.entries or path in before.stuck:
                unexplained.add(path)
            elif path in after.stuck:
                left[path] = self._obstacle(path, after.stuck[path])
            elif before.entries[path] != after.entries[path]:
                sides[path] = before.entries[path], after.entries[path]
            elif others := self._others_with(path):
                shared[path] = f"{_changes(others)} made the same of it"
            elif path not in self._traced:
                unexplained.add(path)
        settled = frozenset(self._paths) - self._wanted.stuck.keys() - unexplained
        return Expected([sides, *self._by_itself(unexplained)], left, shared, settled)

    @cached_property
    def _traced(self) -> frozenset[bytes]:
        """The paths at which the work changes nothing now, but would with works that were undone.

        For a redo also those at which it would by itself. There is nothing to do there. At other paths a
        person removed its change and may have put it back since, as with a stash.
        """
        alone = self._differing(with_others=False) if self.is_redo else ()
        return frozenset(chain(self._differing(with_others=True), alone))

    def _differing(self, *, with_others: bool) -> Iterator[bytes]:
        """Yield the paths at which the work makes a difference to all the others, or to none of them."""
        one = self._replay.run(lambda each, _: with_others or each == self.work)
        other = self._replay.run(lambda each, _: with_others and each != self.work)
        stuck = one.stuck.keys() | other.stuck.keys()
        return (path for path in one.entries if path not in stuck if one.entries[path] != other.entries[path])

    def _others_with(self, path: bytes) -> frozenset[WorkId]:
        """Return the other works that made of a path all that this one made of it."""
        own = self._replay.made_of(path, self.work)

        def has(entry: TreeEntry | None, sides: tuple[TreeEntry | None, TreeEntry | None]) -> bool:
            edits, left = self._replay.applied({path: entry}, {path: sides})
            return not left and edits.get(path, entry) == entry

        return frozenset(
            each
            for each in self._replay.makers(path) - {self.work}
            if self.moves.is_wanted(each)
            if all(
                any(
                    has(after, one) and not has(before, one)
                    for before, after in self._replay.made_of(path, each)
                )
                for one in own
            )
        )

    def _obstacle(self, path: bytes, stuck: Iterable[WorkId | None]) -> str:
        others = {each for each in stuck if each is not None} - {self.work}
        reasons = []
        if self.work in stuck and (gone := self._gone_below(path)):
            reasons.append(f"it builds on {_changes(gone)}, taken back before")
        if others:
            verbs = ("overlaps with", "overlap with") if self.is_redo else ("builds on", "build on")
            reasons.append(f"{_changes(others)} {verbs[len(others) > 1]} it")
        if None in stuck or not reasons:
            reasons.append(OVERLAPS)
        return "; ".join(reasons)

    def _gone_below(self, path: bytes) -> frozenset[WorkId]:
        """Return the works that were taken back and with which this one would apply to a path."""
        replay = Replay(self.repo, self.moves.moves, [path])
        gone = frozenset(each for each in replay.makers(path) if not self.moves.is_there(each, path))
        gone -= {self.work}

        def applies_with(one: WorkId) -> bool:
            def is_in(each: WorkId, path: bytes) -> bool:
                return each in {self.work, one} or self.moves.is_there(each, path)

            return self.work not in replay.run(is_in).stuck.get(path, ())

        return frozenset(filter(applies_with, gone)) or gone

    def _by_itself(self, paths: Collection[bytes]) -> Iterator[Sides]:
        """Yield the work alone, turned round, at paths that the recorded moves do not explain."""
        done = [self.taken] if self.is_redo else [move.trees for move in self.moves.of(self.work)]
        for base, head in filter(None, reversed(done) if paths else ()):
            change = sides_of(self._trees, Trees(head, base))
            yield {path: sides for path, sides in change.items() if path in paths}


def _changes(works: Iterable[WorkId]) -> str:
    named: list[str] = sorted({task_id for task_id, _ in works})
    more = [f"{len(named) - _MAX_NAMED} more"] if len(named) > _MAX_NAMED else []
    *others, last = [*named[:_MAX_NAMED], *more]
    return f"the changes of {', '.join(others)} and {last}" if others else f"the change of {last}"
