"""The one error family: what went wrong, the way out, and the exit code that says so.

The core raises these and never prints; one place at the edge turns them into
``fatal:``/``error:`` and ``hint:`` lines and into the exit status.
"""

from enum import IntEnum
from typing import TYPE_CHECKING

from git_blackbird.clean import legible

if TYPE_CHECKING:
    from pathlib import Path  # slow to load, for a command that only helps


class ExitCode(IntEnum):
    """What a call did or was stopped by. What stands below each is its meaning in the documents."""

    OK = 0
    """nothing is left for this call to do (what waits for you is listed), or you approved and quit; for other
    commands: it worked"""
    FAILED = 1
    """a task of this call failed, was rejected, or could not be set up; for other commands: the request
    cannot be met, or only a part of it, or the answer is no, as of `plan lint` where a finding is
    blocking, and of `doctor` while something is left"""
    USAGE = 2
    """the command line is wrong; for `verify`: a commit, or the decisions, that it needs are not in this
    clone"""
    DECISION_REQUIRED = 3
    """a decision is due: at a checkpoint, because reviews or the check did not settle a change, because the
    agent changed nothing, because what `decide` approved could not land or be committed, or on what
    another program or clone did (`adopt`)"""
    WAITING_USER = 4
    """an agent asked a question, a run reached a limit or ended in a way that is not known and someone must
    say how to continue, or a budget is spent"""
    PARENT_REVIEW_REQUIRED = 5
    """a parent review failed or gave no verdict, or a child has open feedback from one"""
    LOCKED = 7
    """another process runs agents in this worktree, works in the same session or on the same task in another
    worktree, or commits an approval"""
    AGENT_UNAVAILABLE = 8
    """the agent cannot work: it is missing, too old, logged out, over its limit, without the model or session
    it was asked for, refuses to start, or has refused two tasks in the same words"""
    BUG = 70
    """a bug; the error names the report that was written"""
    UNUSABLE = 128
    """nothing else is due, and a task is stopped by a record that cannot be read; for all commands: there is
    no repository; or its plan, its configuration or git cannot be used; or the system refuses: a full
    disk, a closed output, a file system without locks, a limit on files or memory"""
    INTERRUPTED = 130
    """interrupted: the run is paused, a question was left open, or you did not agree to start an agent"""


class BlackbirdError(Exception):
    """Something the user can understand and act on. Both texts are cleaned here: they may name anything.

    ``lines`` say what is wrong and where, ``ways_out`` are commands or prose, each a line; ``message`` and
    ``hint`` are their texts.
    """

    exit_code = ExitCode.FAILED
    # Whether people have been told already, as of what goes wrong while other work goes on.
    is_told = False

    def __init__(self, message: str | tuple[str, ...], *, hint: str | tuple[str, ...] | None = None) -> None:
        self.lines = legible_lines(message)
        super().__init__(self.message)
        self.ways_out = legible_lines(hint)

    def add_note(self, note: str) -> None:
        super().add_note(legible(note))

    @property
    def message(self) -> str:
        return joined_lines(self.lines) or ""

    @property
    def hint(self) -> str | None:
        """The ways out as lines; None if there is none."""
        return joined_lines(self.ways_out)

    @hint.setter
    def hint(self, hint: str | tuple[str, ...] | None) -> None:
        self.ways_out = legible_lines(hint)

    @property
    def line(self) -> str:
        """What is wrong, with the way out, for a text that says more."""
        return "; ".join(filter(None, (self.message, self.hint)))


def legible_lines(text: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return what is shown of one line or of several."""
    lines = (text,) if isinstance(text, str) else text or ()
    return tuple(map(legible, lines))


def joined_lines(lines: tuple[str, ...]) -> str | None:
    """Return lines as one text; None if there are none."""
    # One is kept as it is: a command, or a sentence with some, knows more than its text.
    return lines[0] if len(lines) == 1 else "\n".join(lines) or None


def error_notes(error: BlackbirdError) -> tuple[str, ...]:
    """Return what was done before the error, in lines: it stays done."""
    return tuple(getattr(error, "__notes__", ()))


class RequestError(BlackbirdError):
    """A request that makes sense but cannot be met in the present state."""


class UsageError(BlackbirdError):
    """The command line itself is wrong."""

    exit_code = ExitCode.USAGE


class MissingHereError(BlackbirdError):
    """A clone lacks what the command needs, and a fetch, which is its hint, brings that."""

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

    def __init__(self, message: str, place: "Path | None") -> None:
        super().__init__(message, hint="run it in the worktree that has the plan")
        self.place = place
