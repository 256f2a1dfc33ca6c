"""What fails of a task that is done, since a change of another task came into the user's worktree."""

from git_blackbird.model.base.ids import CheckedRunId, CheckedTaskId
from git_blackbird.model.base.record import Record, Unmasked


class BrokenCriterion(Record):
    """A criterion that is a command, and passed before a change and fails with it.

    ``task_id`` and ``run`` are those of that change, ``at`` is when it came; ``words`` say how the command
    ended, ``output`` is the end of what it printed.
    """

    command: Unmasked[str]
    task_id: Unmasked[CheckedTaskId]
    run: CheckedRunId
    at: str
    words: str
    output: str | None = None


class Broken(Record):
    """The criteria of one task that fail since it was done."""

    criteria: tuple[BrokenCriterion, ...]
