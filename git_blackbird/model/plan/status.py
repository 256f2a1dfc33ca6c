"""The statuses of a task, in a module that loads fast: completion lists them."""

from enum import StrEnum


class Status(StrEnum):
    """The statuses in the plan file, the same as in the Go program."""

    TODO = "todo"
    QUEUED = "queued"
    IN_PROGRESS = "in_progress"
    WAITING_USER = "waiting_user"
    BLOCKED = "blocked"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"


IN_HAND = frozenset({Status.IN_PROGRESS, Status.WAITING_USER})
"""The statuses of a task that an agent or a person is about."""
RETRIABLE = frozenset({Status.FAILED, Status.WAITING_USER, Status.BLOCKED, Status.IN_PROGRESS})
"""The statuses from which a task can be set back to todo."""
