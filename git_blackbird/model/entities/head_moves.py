"""Decide whether a move of HEAD during a run was the run's own or someone else's.

There are two sources: the hook notes who commits; and the git processes of an agent leave a trace with their
times and arguments, which is compared with the time and the reflog message of the move.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

_SECOND = 1_000_000_000
# The clock of file systems is a tick behind the one of processes.
_TICK = 20_000_000
# Commands that move HEAD at most once, and not at all if they fail.
_ONCE = frozenset({"commit", "checkout", "switch", "reset", "update-ref", "symbolic-ref"})
# The reflog's word for a move, and the commands that may cause it besides the one of that name.
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

    ``first`` and ``last`` bound its time, in nanoseconds since 1970.
    """

    old: str | None
    new: str
    message: str
    first: int
    last: int

    @property
    def verb(self) -> str:
        """The reflog's word for the cause of the move."""
        return self.message.partition(":")[0].partition(" ")[0]

    @property
    def makes_commit(self) -> bool:
        """Whether this move created the commit, rather than just checked it out."""
        return self.verb in _MAKE_COMMITS

    @property
    def is_reset(self) -> bool:
        """Whether the worktree may have stayed as it was."""
        return self.verb == "reset"


class LogSpan(NamedTuple):
    """A part of the reflog of HEAD, in bytes; ``start`` is the commit at its beginning.

    ``begin`` is None if unknown.
    """

    begin: int | None
    end: int
    start: str | None


class GitProcess(NamedTuple):
    """A git command of an agent in this worktree, with its times; ``end`` is None if unknown.

    ``is_dated``: it had a date set for commits, so that the reflog's times are not those of its moves.
    """

    verb: str
    start: int
    end: int | None
    failed: bool = False
    is_dated: bool = False

    def may_have_made(self, move: HeadMove) -> bool:
        """Whether the command makes such moves and was running at that time."""
        if self.failed and self.verb in _ONCE:
            return False
        if move.verb != self.verb and self.verb not in _ALSO.get(move.verb, MOVERS):
            return False
        if self.is_dated and not move.makes_commit:
            return True
        return move.last >= self.start - _TICK and (self.end is None or move.first <= self.end)

    def chosen_among(self, places: Sequence[int], moves: Sequence[HeadMove]) -> Sequence[int]:
        """Return the moves made by this command among those it may have made.

        A command that moves HEAD once made the first one since its start: git refuses to commit if HEAD moved
        meanwhile, and later moves happened during its hooks.
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
    """Return who made each move.

    ``owners`` are the commits listed by the hook, by id; ``processes`` are the traced git commands of the
    run, None without a trace. A move in neither is someone else's if they could have recorded it.
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
    """Return the indices of moves that the run's commands made."""
    left = [place for place, mover in enumerate(found) if mover is None]
    noted = [place for place, mover in enumerate(found) if mover is Mover.RUN]
    # Commands that can have made only one move choose first.
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
