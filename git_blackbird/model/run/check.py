"""What the user's check says of a tree."""

from enum import StrEnum

from git_blackbird.model.base.ids import ObjectId
from git_blackbird.model.base.record import Record
from git_blackbird.model.base.sanitize import clean_line


class CheckOutcome(StrEnum):
    """What the user's check says of a tree.

    ``due``: it has not run yet. ``failed_before``: it fails on the base of the change as well. ``broken``: it
    could not be started, or was not done in time, and says nothing.
    """

    DUE = "due"
    PASSED = "passed"
    FAILED = "failed"
    FAILED_BEFORE = "failed_before"
    BROKEN = "broken"


class CheckResult(Record):
    """The verdict of one command on one tree.

    ``output`` is the end of what it printed, ``reason`` why it is ``broken``; ``exit_code`` is negative for
    a signal. ``prepared`` is what its files were prepared with.
    """

    outcome: CheckOutcome
    command: str | None = None
    prepared: tuple[str, ...] | None = None
    tree: ObjectId | None = None
    exit_code: int | None = None
    seconds: float | None = None
    output: str | None = None
    reason: str | None = None
    started_at: str | None = None

    @property
    def ended(self) -> str:
        """How its process ended."""
        return describe_exit(self.exit_code)

    @property
    def words(self) -> str:
        """The verdict on one line."""
        match self.outcome:
            case CheckOutcome.FAILED:
                return f"failed: {self.ended}"
            case CheckOutcome.FAILED_BEFORE:
                return f"failed before: {self.ended}, as on the base of the change"
            case CheckOutcome.BROKEN:
                return f"broken: {clean_line(self.reason or 'no reason is recorded')}"
            case _:
                return self.outcome.value


def describe_exit(code: int | None) -> str:
    """Say how a process ended; a negative code is a signal."""
    if code is None:
        return "unknown exit"
    return f"signal {-code}" if code < 0 else f"exit {code}"
