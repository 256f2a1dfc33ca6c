"""Commits as readers see them: what they say, which runs list them, who made one."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.model.run import Run


class Commit(NamedTuple):
    """A commit's id, the first line of its message, and the tasks and runs that its trailers name."""

    oid: str
    subject: str
    tasks: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()


class RunCommit(NamedTuple):
    """A commit that a run lists; ``subject`` is None when the repository has it no more.

    ``in_history`` says whether a reference or HEAD leads to it: an amended or rebased one is left behind.
    """

    run: Run
    oid: str
    subject: str | None
    in_history: bool


class Maker(NamedTuple):
    """A task that a commit was made for; the run is None where nobody knows one, or its record is gone."""

    task_id: str | None
    run_id: str | None
    run: Run | None


class Source(StrEnum):
    """How the maker of a commit is known."""

    RECORD = "record"
    NOTE = "note"
    TRAILERS = "trailers"


class Origin(NamedTuple):
    """Who made a commit: what records list counts, then what the hook noted, then its own trailers.

    Where only the trailers tell, ``instead`` is what runs of these tasks list in its place: it may be a copy.
    """

    commit: Commit
    in_history: bool
    makers: tuple[Maker, ...]
    source: Source
    instead: tuple[RunCommit, ...] = ()
