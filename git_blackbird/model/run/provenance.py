"""What is wrong with record files, and what other programs and clones left that could be adopted."""

from enum import StrEnum
from pathlib import PurePath
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import ShellLine
from git_blackbird.model.base.sanitize import shell_word
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run

MOVED_AWAY = ".unreadable"
"""What is added to the name of a file that no longer counts."""
UNREADABLE = "one of its records cannot be used"


class RecordError(NamedTuple):
    """A file that cannot be used: its task is stopped."""

    path: str
    what: str

    @property
    def text(self) -> str:
        """Say what is wrong with which file."""
        return f"unreadable record: {self.path}: {self.what}"

    @property
    def hint(self) -> str:
        """The command that lets the task go on; the content of an unusable record is lost then."""
        path = PurePath(self.path)
        if path.suffix != ".json":
            return f"make {shell_word(self.path)} a folder that can be read"
        move = f"mv -i {shell_word(self.path)} {shell_word(f'{self.path}{MOVED_AWAY}')}"
        return ShellLine(move, "or fix it; this keeps the file, but what it records no longer counts")


class AdoptableKind(StrEnum):
    """What can be adopted; a decision is one on a run of ours."""

    RUN = "run"
    REVIEW = "review"
    DECISION = "decision"
    FEEDBACK = "feedback"


class Adoptable(NamedTuple):
    """What another program or clone left below ``.blackbird/``, and would count if it were adopted.

    ``written`` is the time of its file in nanoseconds since 1970. ``becomes`` is the status that the task
    would have with it; None where that stays.
    """

    task_id: TaskId
    kind: AdoptableKind
    found: Run | Feedback
    written: int
    becomes: Status | None = None
