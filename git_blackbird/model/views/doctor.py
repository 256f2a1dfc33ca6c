"""What is wrong in a repository, what can be done about it, and how much room its runs take."""

from enum import StrEnum
from typing import Annotated, NamedTuple

from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.shown import Shown

FIX = ShellLine("git blackbird doctor --fix", "mends it")


class Mend(StrEnum):
    """What ``doctor --fix`` does, in this order."""

    INDEX_LOCK = "index_lock"
    RECOVERY = "recovery"
    COPIES = "copies"
    REFERENCES = "references"
    WORKTREES = "worktrees"
    HOOKS = "hooks"


class Finding(NamedTuple):
    """A problem at a path or reference.

    ``mend`` mends it, ``ways_out`` are lines with other remedies, mostly commands, and ``subject`` is the
    check that found it.
    """

    what: str
    where: str
    mend: Mend | None = None
    ways_out: tuple[str, ...] = ()
    subject: str = ""

    @property
    def steps(self) -> tuple[str, ...]:
        """What a person may do, best first."""
        return self.ways_out if self.mend is None else (FIX, *self.ways_out)


class DiskUse(NamedTuple):
    """How much room the runs take."""

    records: Annotated[int, Shown("How many records there are.")]
    references: Annotated[int, Shown("How many references below `refs/blackbird/`.")]
    disk_bytes: Annotated[int, Shown("The room of records, copies and logs.")]
