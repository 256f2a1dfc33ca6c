"""The one error family: what went wrong, the way out, and the exit code that says so.

The core raises these and never prints; one place at the edge turns them into
``fatal:``/``error:`` and ``hint:`` lines and into the exit status.
"""

from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What a call did or was stopped by; promises of the README and the man page."""

    OK = 0
    FAILED = 1
    USAGE = 2
    DECISION_REQUIRED = 3
    WAITING_USER = 4
    PARENT_REVIEW_REQUIRED = 5
    LOCKED = 7
    AGENT_UNAVAILABLE = 8
    BUG = 70
    UNUSABLE = 128
    INTERRUPTED = 130


class BlackbirdError(Exception):
    """Something the user can understand and act on.

    ``message`` says what is wrong and where; ``ways_out`` are commands or prose, each a line, and ``hint`` is
    their text.
    """

    exit_code = ExitCode.FAILED
    # Whether people have been told already, as of what goes wrong while other work goes on.
    is_told = False

    def __init__(self, message: str, *, hint: str | tuple[str, ...] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.ways_out: tuple[str, ...] = (hint or ()) if not isinstance(hint, str) else (hint,)

    @property
    def hint(self) -> str | None:
        """The ways out as lines; None if there is none."""
        # One is kept as it is: a command knows more than its text.
        return self.ways_out[0] if len(self.ways_out) == 1 else "\n".join(self.ways_out) or None

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self.ways_out = () if hint is None else (hint,)

    @property
    def line(self) -> str:
        """What is wrong, with the way out, for a text that says more."""
        return "; ".join(filter(None, (self.message, self.hint)))


def error_notes(error: BlackbirdError) -> tuple[str, ...]:
    """Return what was done before the error, in lines: it stays done."""
    return tuple(getattr(error, "__notes__", ()))


class RequestError(BlackbirdError):
    """A request that makes sense but cannot be met in the present state."""


class UsageError(BlackbirdError):
    """The command line itself is wrong."""

    exit_code = ExitCode.USAGE


class LockedError(BlackbirdError):
    """Another process holds the lock this command needs."""

    exit_code = ExitCode.LOCKED


class AgentUnavailableError(BlackbirdError):
    """The agent is missing, logged out, or refuses to start; nothing is charged as failed."""

    exit_code = ExitCode.AGENT_UNAVAILABLE


class InterruptedByUserError(BlackbirdError):
    """A person broke off what was being asked; what was typed before is kept, and said where."""

    exit_code = ExitCode.INTERRUPTED


class UnusableError(BlackbirdError):
    """No repository here, its plan, configuration or git cannot be used, or the system refuses."""

    exit_code = ExitCode.UNUSABLE


class ElsewhereError(UnusableError):
    """The command belongs in another worktree, ``place``; None where that is not known."""

    def __init__(self, message: str, place: Path | None) -> None:
        super().__init__(message, hint="run it in the worktree that has the plan")
        self.place = place
