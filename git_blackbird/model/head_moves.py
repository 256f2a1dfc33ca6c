"""Whose a move of HEAD was that happened while an agent worked: the run's own, or someone else's.

Two things tell. The hook notes who commits; and the git processes of an agent leave a trace of when they
worked and what they were, which is held against the moment of the move and git's message for it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

_SECOND = 1_000_000_000
# The clock of file systems is a tick behind the one of processes.
_TICK = 20_000_000
# What moves HEAD once at most, and not at all where it fails.
_ONCE = frozenset({"commit", "checkout", "switch", "reset", "update-ref", "symbolic-ref"})
# Git's word for a move, and the commands that it may come of beside the one of its name.
_ALSO: Mapping[str, frozenset[str]] = {
    "checkout": frozenset({"switch", "bisect", "rebase", "stash", "worktree"}),
    "reset": frozenset({"stash", "rebase"}),
    "merge": frozenset({"pull"}),
    "pull": frozenset({"merge", "rebase"}),
    "rebase": frozenset({"pull", "am"}),
    "commit": frozenset({"merge", "rebase", "cherry-pick", "revert", "am"}),
    "am": frozenset({"rebase"}),
    "cherry-pick": frozenset({"rebase"}),
    "revert": frozenset({"rebase"}),
}
_MAKE_COMMITS = frozenset({"commit", "cherry-pick", "revert", "am"})
MOVERS = frozenset({*_ONCE, *_ALSO, *(verb for also in _ALSO.values() for verb in also)})
"""The git commands that may move HEAD."""


class HeadMove(NamedTuple):
    """One move of a worktree's HEAD; ``old`` is None before the first commit.

    ``first`` and ``last`` bound the moment, in nanoseconds since 1970.
    """

    old: str | None
    new: str
    message: str
    first: int
    last: int

    @property
    def verb(self) -> str:
        """Git's word for what moved HEAD."""
        return self.message.partition(":")[0].partition(" ")[0]

    @property
    def makes_commit(self) -> bool:
        """Whether the commit was made by this move, and not merely come to."""
        return self.verb in _MAKE_COMMITS

    @property
    def is_reset(self) -> bool:
        """Whether the worktree need not have followed the move."""
        return self.verb == "reset"


class LogSpan(NamedTuple):
    """A part of git's log of HEAD, in bytes; ``start`` is what HEAD named where it begins.

    ``begin`` is None where it is not known.
    """

    begin: int | None
    end: int
    start: str | None


class GitProcess(NamedTuple):
    """A git command of an agent's in this worktree, and when it worked; ``end`` is None if that is not known.

    ``is_dated``: it was told a date for commits, so that git's log does not tell when it made its moves.
    """

    verb: str
    start: int
    end: int | None
    failed: bool = False
    is_dated: bool = False

    def may_have_made(self, move: HeadMove) -> bool:
        """Whether the command makes such moves, and was at work at that moment."""
        if self.failed and self.verb in _ONCE:
            return False
        if move.verb != self.verb and self.verb not in _ALSO.get(move.verb, MOVERS):
            return False
        if self.is_dated and not move.makes_commit:
            return True
        return move.last >= self.start - _TICK and (self.end is None or move.first <= self.end)

    def chosen_among(self, places: Sequence[int], moves: Sequence[HeadMove]) -> Sequence[int]:
        """Give what this command made of the moves that it may have made.

        One that moves HEAD once made the first since its start: git lets no commit be made where someone
        else moved HEAD meanwhile, and what comes later came while its hooks were at work.
        """
        if self.verb not in _ONCE:
            return places
        return [*(place for place in places if moves[place].last >= self.start), *places][:1]


class Mover(Enum):
    """Who moved HEAD."""

    RUN = "run"
    OTHER = "other"
    UNKNOWN = "unknown"


def attribute(
    moves: Sequence[HeadMove],
    owners: Mapping[str, str],
    processes: Sequence[GitProcess] | None,
    run_id: str,
) -> list[Mover]:
    """Say of each move who made it.

    ``owners`` are the commits that the hook knows, by their id; ``processes`` what the run's git commands
    left, None where nobody looked. What neither tells of is someone else's where they could have told.
    """
    found = [_noted(move, owners, run_id) for move in moves]
    for place in _traced(moves, found, processes or ()):
        found[place] = Mover.RUN
    rest = Mover.UNKNOWN if processes is None else Mover.OTHER
    return [rest if mover is None else mover for mover in found]


def _noted(move: HeadMove, owners: Mapping[str, str], run_id: str) -> Mover | None:
    owner = owners.get(move.new) if move.makes_commit else None
    if owner is None:
        return None
    return Mover.RUN if owner == run_id else Mover.OTHER


def _traced(
    moves: Sequence[HeadMove], found: Sequence[Mover | None], processes: Iterable[GitProcess]
) -> Iterator[int]:
    """Give the places of moves that the run's commands made."""
    left = [place for place, mover in enumerate(found) if mover is None]
    noted = [place for place, mover in enumerate(found) if mover is Mover.RUN]
    # Those that can have made one move only choose first.
    for process in sorted(processes, key=lambda one: (one.verb not in _ONCE, one.start)):
        if process.verb in _ONCE:
            own = next((place for place in noted if process.may_have_made(moves[place])), None)
            if own is not None:
                noted.remove(own)
                continue
        made = [place for place in left if process.may_have_made(moves[place])]
        taken = process.chosen_among(made, moves)
        yield from taken
        left = [place for place in left if place not in taken]
