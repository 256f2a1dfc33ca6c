"""Commits: their message and trailers, the runs that list them, and their origin (DESIGN.md 10)."""

from enum import StrEnum
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
    return f"{title}\n\n{TASK_TRAILER}: {task.id}\n{run_trailer(run_id)}\n"


def run_trailer(run_id: RunId) -> str:
    """Return the trailer that names a run."""
    return f"{RUN_TRAILER}: {run_id}"
