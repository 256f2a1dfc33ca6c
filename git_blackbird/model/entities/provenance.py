"""Who wrote a record file: content that our commands wrote or found, and files that do not count."""

from collections.abc import Mapping
from pathlib import PurePath, PurePosixPath
from types import MappingProxyType
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


class WatchedRun(NamedTuple):
    """What is known about record files since the first of these runs began; each is given with its beginning.

    ``before`` has the digests of those that were there, of all if it ``is_whole``. ``written`` has, for each
    place, the digests that our commands noted before they wrote them, in order; "" stands for a file that
    they removed.
    """

    runs: tuple[tuple[int, RunId], ...]
    before: Mapping[str, str] = MappingProxyType({})
    written: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    is_whole: bool = True

    @property
    def since(self) -> int:
        """When the first run began."""
        return self.runs[0][0]

    def is_untouched(self, place: str, changed: int) -> bool:
        """Whether a file with that time of change existed before."""
        return changed < self.since and (place in self.before or not self.is_whole)

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
        begun = [run_id for began, run_id in self.runs if began <= content.changed] or [self.runs[0][1]]
        return Unconfirmed(content.digest, begun[-1], is_new=self.is_whole and not valid)


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


class RecordError(NamedTuple):
    """An unusable record file, and why. It blocks its task.

    ``accept`` is the command that accepts the file as it is, if there is one.
    """

    path: str
    what: str
    accept: str = ""

    @property
    def hint(self) -> str:
        """The command that unblocks the task without the file; its content is lost then."""
        if self.accept:
            return ShellLine(self.accept, "accepts it as it is now; or restore what it was, or remove it")
        path = PurePath(self.path)
        if path.suffix != ".json":
            return f"make {shell_word(self.path)} a folder that can be read"
        state = next((above for above in path.parents if above.name == ".blackbird"), path.parent)
        aside = shell_word(str(state / f"{path.name}.unreadable"))
        move = f"mv -i {shell_word(self.path)} {aside}"
        return ShellLine(move, "or fix it; moved away, it no longer counts")
