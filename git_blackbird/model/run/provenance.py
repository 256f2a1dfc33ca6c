"""What is wrong with record files, and what lies beside them below ``.blackbird/``."""

from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.run.run import Run

MOVED_AWAY = ".unreadable"
"""What is added to the name of a file that no longer counts."""
UNREADABLE = "one of its records cannot be used"


class RecordError(NamedTuple):
    """A file for which its task stands still, and why: an unusable record, or a copy that says more.

    ``ways_out`` are the commands of which each ends that.
    """

    path: str
    what: str
    ways_out: tuple[ShellLine, ...] = ()

    @property
    def stops(self) -> str:
        """Say in short what it does to its task."""
        return "it stands still" if self.ways_out else UNREADABLE

    @property
    def text(self) -> str:
        """Say what is wrong with which file."""
        kind = "a task stands still" if self.ways_out else "unreadable record"
        return f"{kind}: {self.path}: {self.what}"

    @property
    def command(self) -> str:
        """The first of the commands of which each lets the task go on."""
        return self.ways_out[0] if self.ways_out else self.hint

    @property
    def hint(self) -> str:
        """The commands of which each lets the task go on; the content of an unusable record is lost then."""
        if self.ways_out:
            return "\n".join(self.ways_out)
        path = PurePath(self.path)
        if path.suffix != ".json":
            return f"make {shell_word(self.path)} a folder that can be read"
        move = f"mv -i {shell_word(self.path)} {shell_word(f'{self.path}{MOVED_AWAY}')}"
        return ShellLine(move, "or fix it; this keeps the file, but what it records no longer counts")


class StaleCopy(NamedTuple):
    """The copy of a record or of feedback that is not what was written; "removed" or "changed"."""

    path: str
    what: str

    @property
    def text(self) -> str:
        """Say what became of it."""
        return f"the copy {self.path} was {self.what}"


class Beside(NamedTuple):
    """What lies below ``.blackbird/`` beside the records of a task: nothing is done on its word.

    ``foreign`` are runs from elsewhere, oldest first: a clone's, the Go program's, or what an agent wrote.
    ``strays`` are files among them that are no records, ``unread`` counts those beyond what is read.
    ``stale`` are copies of our records, with ``decided`` those of them on which a person has decided.
    """

    foreign: tuple[Run, ...] = ()
    strays: tuple[str, ...] = ()
    unread: int = 0
    stale: tuple[StaleCopy, ...] = ()
    decided: tuple[Run, ...] = ()

    @property
    def restorable(self) -> tuple[StaleCopy, ...]:
        """The stale copies that may be written again: nobody has decided on them."""
        decided = {run.id for run in self.decided}
        return tuple(copy for copy in self.stale if PurePath(copy.path).stem not in decided)

    @property
    def total(self) -> int:
        """How many files are from elsewhere."""
        return len(self.foreign) + len(self.strays) + self.unread


NOTHING_BESIDE = Beside()


FROM_ELSEWHERE = "from elsewhere: history only"


def elsewhere_lines(count: int) -> Iterator[str]:
    """Say how many runs are from elsewhere, if there are any."""
    if count:
        yield f"{count} run{'' if count == 1 else 's'} {FROM_ELSEWHERE}"
