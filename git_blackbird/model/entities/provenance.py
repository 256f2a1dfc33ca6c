"""The provenance of record files: written by our commands, older than the run, or unknown.

A place is the path of a file below the state folder, with slashes; times are in nanoseconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NamedTuple

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.entities.cli_hints import ShellLine, TaskCommand, task_command

_RUNS = "runs"
FEEDBACK = "feedback"


class Content(NamedTuple):
    """The content of a file by digest, and when the file system last saw it change."""

    digest: str
    changed: int


class Unconfirmed(NamedTuple):
    """Content that something other than our commands wrote while a run was at work.

    ``is_new`` says that there was no record in its place before.
    """

    digest: str
    run_id: RunId
    is_new: bool


@dataclass(frozen=True)
class WatchedRun:
    """What is known about record files since a run began.

    ``written`` has, for each place, the digests that our commands noted before they wrote them, in order; ""
    stands for a file that they removed.
    """

    run_id: RunId
    since: int
    before: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def is_untouched(self, place: str, changed: int) -> bool:
        """Whether a file with that time of change existed before."""
        return place in self.before and changed < self.since

    def judge(self, place: str, content: Content) -> Unconfirmed | None:
        """Return content that our commands did not write and that was not there before; else None.

        The last two noted digests are valid: after a crash the file may still have the older one.
        """
        if self.is_untouched(place, content.changed):
            return None
        known_before = self.before.get(place)
        valid = (*filter(None, (known_before,)), *self.written.get(place, ()))
        if content.digest in valid[-2:]:
            return None
        return Unconfirmed(content.digest, self.run_id, is_new=not valid)

    def removed(self, places: frozenset[str]) -> tuple[str, ...]:
        """Return the run records that our commands wrote or found, and that are missing in ``places``."""
        known = self.before.keys() | self.written.keys()
        return tuple(sorted(place for place in known - places if place.startswith(f"{_RUNS}/")))


class UnconfirmedRecord(NamedTuple):
    """A record file that is ignored until a person confirms it."""

    path: str
    place: str
    run_id: RunId

    @property
    def what(self) -> str:
        """The reason."""
        return written_during(self.run_id)

    @property
    def command(self) -> ShellLine:
        """The command that confirms it."""
        return accept_command(self.place).with_remark("accepts it; or remove it")


def written_during(run_id: RunId) -> str:
    """Describe that something else wrote a file while a run was at work."""
    return f"written while run {run_id} was working, but not by git-blackbird"


def accept_command(place: str) -> TaskCommand:
    """Format the command that confirms the file at a place."""
    path = PurePosixPath(place)
    if path.parts[0] == _RUNS:
        return task_command("runs", path.parts[1], f" {shell_word(path.stem)} --accept")
    return task_command("runs", path.stem, f" {FEEDBACK} --accept")
