"""Commits: their message and trailers, the runs that list them, and their origin."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.sanitize import strip_controls

# The process that makes commits needs no models, which take longer to load than all else in it.
if TYPE_CHECKING:
    from git_blackbird.model.entities.plan import Task
    from git_blackbird.model.entities.run import Run

TASK_TRAILER = "Blackbird-Task"
RUN_TRAILER = "Blackbird-Run"


class Commit(NamedTuple):
    """A commit's id, the first line of its message, and the tasks and runs in its trailers."""

    oid: str
    subject: str
    tasks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class RunCommit(NamedTuple):
    """A commit that a run lists; ``subject`` is None if it is not in the repository any more.

    ``reachable`` says whether HEAD or a reference leads to it: an amended or rebased one is unreachable.
    """

    run: "Run"
    oid: str
    subject: str | None
    in_history: bool


class CommitSource(NamedTuple):
    """A task that a commit was made for; the run is None if it is unknown or its record is missing."""

    task_id: str | None
    run_id: str | None
    run: "Run | None"


class Evidence(StrEnum):
    """How the origin of a commit is known."""

    RECORD = "record"
    NOTE = "note"
    TRAILERS = "trailers"


class CommitProvenance(NamedTuple):
    """The origin of a commit: from run records, or else the hook's list, or else its own trailers.

    If only the trailers name it, ``instead`` has the commits that runs of these tasks list: it may be a copy.
    """

    commit: Commit
    in_history: bool
    makers: tuple[CommitSource, ...]
    source: Evidence
    instead: tuple[RunCommit, ...] = ()


def render_commit_message(task: "Task", run_id: RunId) -> str:
    """Return the message of an approval's commit: the title on one line, then the trailers."""
    title = " ".join(strip_controls(task.title).split()) or task.id
    return f"{title}\n\n{TASK_TRAILER}: {task.id}\n{RUN_TRAILER}: {run_id}\n"


def render_undo_message(task: "Task", run_id: RunId, *, is_redo: bool) -> str:
    """Return the message of a commit that takes the change of a task back, or brings it back."""
    title = " ".join(strip_controls(task.title).split()) or task.id
    verb, what = ("Redo", "brings back") if is_redo else ("Undo", "takes back")
    trailers = f"{TASK_TRAILER}: {task.id}\n{RUN_TRAILER}: {undo_mark(run_id, is_redo=is_redo)}\n"
    return f'{verb} "{title}"\n\nThis {what} the change of run {run_id}.\n\n{trailers}'


def undo_mark(run_id: RunId, *, is_redo: bool) -> str:
    """Return what stands for a run in the trailer of a commit that takes its change back, or brings it back.

    It is not that run's commit, and nobody's work on its task.
    """
    return f"{'redo' if is_redo else 'undo'}-{run_id}"


def run_of_mark(name: str) -> str:
    """Return the run whose change a commit with such a trailer is about."""
    return name.rpartition("-")[2]


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

    ``first`` and ``last`` bound its time, in nanoseconds since 1970, if that is known.
    """

    old: str | None
    new: str
    message: str = ""
    first: int = 0
    last: int = 0

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


def attribute_moves(
    moves: Sequence[HeadMove],
    owners: Mapping[str, set[str]],
    processes: Sequence[GitProcess] | None,
    run_id: str,
) -> list[Mover]:
    """Return who made each move.

    ``owners`` are the commits listed by the hook, by id, with who is said to have made them: two, if another
    commit moved HEAD before the hook read it. ``processes`` are the traced git commands of the run, None
    without a trace. A move in neither is someone else's if they could have recorded it.
    """
    movers = [_mover_by_hook(move, owners, run_id) for move in moves]
    for place in _traced(moves, movers, processes or ()):
        movers[place] = Mover.RUN
    rest = Mover.UNKNOWN if processes is None else Mover.OTHER
    return [rest if mover is None else mover for mover in movers]


def _mover_by_hook(move: HeadMove, owners: Mapping[str, set[str]], run_id: str) -> Mover | None:
    named = owners.get(move.new) if move.makes_commit else None
    if not named or (run_id in named and len(named) > 1):
        return None
    return Mover.RUN if run_id in named else Mover.OTHER


def _traced(
    moves: Sequence[HeadMove], movers: Sequence[Mover | None], processes: Iterable[GitProcess]
) -> Iterator[int]:
    """Return the indices of moves that the run's commands made."""
    unattributed = [place for place, mover in enumerate(movers) if mover is None]
    attributed = [place for place, mover in enumerate(movers) if mover is Mover.RUN]
    # Commands that can have made only one move choose first.
    for process in sorted(processes, key=lambda process: (process.verb not in _ONCE, process.start)):
        if process.verb in _ONCE:
            own = next((place for place in attributed if process.may_have_made(moves[place])), None)
            if own is not None:
                attributed.remove(own)
                continue
        candidates = [place for place in unattributed if process.may_have_made(moves[place])]
        chosen = process.chosen_among(candidates, moves)
        yield from chosen
        unattributed = [place for place in unattributed if place not in chosen]
