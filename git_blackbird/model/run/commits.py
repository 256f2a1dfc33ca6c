"""Commits: their message and trailers, the runs that list them, and their origin."""

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.clean import one_line
from git_blackbird.model.base.ids import RunId

# The process that makes commits needs no models, which take longer to load than all else in it.
if TYPE_CHECKING:
    from git_blackbird.model.plan.plan import Task
    from git_blackbird.model.run.run import Run
    from git_blackbird.model.run.states import Verb

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
    title = one_line(task.title, len(task.title)) or task.id
    return f"{title}\n\n{TASK_TRAILER}: {task.id}\n{RUN_TRAILER}: {run_id}\n"


def render_undo_message(verb: "Verb", task: "Task", run_id: RunId) -> str:
    from git_blackbird.model.run.states import VERBS

    title = one_line(task.title, len(task.title)) or task.id
    trailers = f"{TASK_TRAILER}: {task.id}\n{RUN_TRAILER}: {undo_mark(verb, run_id)}\n"
    what = f"This {VERBS[verb].present} the change of run {run_id}."
    return f'{VERBS[verb].noun.capitalize()} "{title}"\n\n{what}\n\n{trailers}'


def undo_mark(verb: "Verb", run_id: RunId) -> str:
    """Return what replaces a run id in the trailer of a commit that takes a change back, or brings it back.

    Such a commit is not the run's own, and nobody's work on its task. The mark says which way it goes.
    """
    from git_blackbird.model.run.states import VERBS, Verb

    return f"{Verb.UNDO if VERBS[verb].takes_back else Verb.REDO}-{run_id}"


def run_of_mark(name: str) -> str:
    """Return the run id in such a trailer."""
    return name.rpartition("-")[2]


_MAKE_COMMITS = frozenset({"commit", "cherry-pick", "revert", "am"})


class HeadMove(NamedTuple):
    """One move of a worktree's HEAD; ``old`` is None before the first commit."""

    old: str | None
    new: str
    message: str = ""

    @property
    def verb(self) -> str:
        """The reflog's word for the cause of the move."""
        return self.message.partition(":")[0].partition(" ")[0]

    @property
    def makes_commit(self) -> bool:
        """Whether this move created the commit, rather than just checked it out."""
        return self.verb in _MAKE_COMMITS

    @property
    def is_amending(self) -> bool:
        """Whether the commit replaced the one before."""
        return self.message.startswith("commit (amend)")

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


class Mover(Enum):
    """Who moved HEAD. What no hook saw is ``UNKNOWN``."""

    RUN = "run"
    OTHER = "other"
    UNKNOWN = "unknown"


def mover_of(move: HeadMove, owners: Mapping[str, set[str]], run_id: str) -> Mover:
    """Return who made a move of HEAD.

    ``owners`` are the commits listed by the hook, by id, with who is said to have made them: two, if another
    commit moved HEAD before the hook read it.
    """
    named = owners.get(move.new) if move.makes_commit else None
    if not named or (run_id in named and len(named) > 1):
        return Mover.UNKNOWN
    return Mover.RUN if run_id in named else Mover.OTHER
