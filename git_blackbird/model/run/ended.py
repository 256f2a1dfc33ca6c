"""How a run ended: what its reader and its process saw, and what that means for its record."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from git_blackbird.model.run.agent_io import AgentFailure
from git_blackbird.model.run.parts import Question, Usage, UsageLimit
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_LOST_SESSION,
    SUPERSEDED_BY_UNAVAILABLE,
    RunStatus,
    TerminalReason,
)

TAIL_BYTES = 16 * 1024
"""How much of the end of each stream is in the record."""
WOKEN_MARK = "[later, woken by a background command, a subagent or a notification]"


class ExitCause(StrEnum):
    """Why a run ended: it exited, reached a limit or its budget, was stopped on request, or lost its machine.

    With ``TOLD`` it was stopped since a person has something to say to it, with ``NOT_STARTED`` its agent
    never began to work.
    """

    EXITED = "exited"
    WALL_LIMIT = "wall_limit"
    IDLE_LIMIT = "idle_limit"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"
    TOLD = "told"
    WORKER_LOST = "worker_lost"
    NOT_STARTED = "not_started"


CUT_OFF = {
    ExitCause.WALL_LIMIT: TerminalReason.WALL_LIMIT,
    ExitCause.IDLE_LIMIT: TerminalReason.IDLE_LIMIT,
    ExitCause.BUDGET: TerminalReason.BUDGET,
    ExitCause.INTERRUPTED: TerminalReason.INTERRUPTED,
    ExitCause.TOLD: TerminalReason.TOLD,
    ExitCause.WORKER_LOST: TerminalReason.WORKER_LOST,
}
"""What a record says of a run that something else ended than its agent."""


_NONE: Mapping[str, Any] = {}  # a proxy of one cannot be sent from a worker


class Ended(NamedTuple):
    """The end of a run. Its reader makes it, its process adds what it saw, ``judged`` what follows from both.

    ``succeeded`` is true only if output and exit code both confirm it. ``session`` is the conversation that
    the agent named, or None. ``raw_totals`` has the counters as printed, from which the next resume is
    subtracted. ``blocked`` says that the agent was denied an action: success without a change does not count
    then. ``lacked`` is what could not be started for it, and may be why it changed nothing. ``is_cut``: the
    final text is incomplete, so that a missing part of it means nothing. ``resets_at`` is when the usage
    limit that refused it is over, in seconds since 1970, if an event says so. ``woken_texts`` are what the
    agent said later, when its own work in the background had ended. ``worked``: a model has said or done
    something. ``is_budget_spent``: it stopped by itself at the cost it was allowed. ``last_error`` is what
    the program said last of an error that it has not got over, also while it tries again. ``is_unknown_end``:
    it ended by itself, in a way that is known neither to mean finished nor to be a failure; ``error`` has its
    word for it. ``rulings`` are what it decided about questions, by their ids, and why. ``edited`` are the
    absolute paths of files that its edits wrote, where its output names them.

    ``exit_code`` is negative for the signal that killed it and None if unknown. ``_bytes`` counts the output,
    ``_dropped`` the part of it that the log does not keep. ``leftovers_stopped`` counts the processes that
    outlived the agent, ``redacted`` the secrets that were masked in its output, by their kinds. ``marks`` are
    what stands in their places there, with the kind of each.
    """

    succeeded: bool = False
    session: str | None = None
    final_text: str = ""
    questions: tuple[Question, ...] = ()
    error: str | None = None
    refusal: AgentFailure | None = None
    way_out: str | None = None
    resets_at: float | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    raw_totals: Mapping[str, float] = _NONE
    notes: tuple[str, ...] = ()
    blocked: str | None = None
    lacked: str | None = None
    is_cut: bool = False
    worked: bool = False
    woken_texts: tuple[str, ...] = ()
    is_budget_spent: bool = False
    last_error: str | None = None
    is_unknown_end: bool = False
    rulings: Mapping[str, tuple[str, str | None]] = _NONE
    edited: tuple[str, ...] = ()

    cause: ExitCause = ExitCause.EXITED
    exit_code: int | None = None
    stdout_tail: str = ""
    stderr_tail: str = ""
    stdout_bytes: int = 0
    stdout_dropped: int = 0
    stderr_bytes: int = 0
    stderr_dropped: int = 0
    leftovers_stopped: int = 0
    duration_seconds: float = 0.0
    redacted: Mapping[str, int] = _NONE
    marks: Mapping[str, str] = _NONE

    at: str = ""
    status: RunStatus = RunStatus.FAILED
    reason: TerminalReason | None = None
    limit: UsageLimit | None = None
    superseded_by: str | None = None

    @property
    def whole_text(self) -> str:
        """The final text, and below it, marked, what was said later."""
        later = (f"{WOKEN_MARK}\n{text}" for text in self.woken_texts)
        return "\n\n".join(filter(None, (self.final_text, *later)))

    def noting(self, *notes: str) -> "Ended":
        return self._replace(notes=(*self.notes, *notes)) if notes else self

    def counting_as(
        self,
        status: RunStatus,
        reason: TerminalReason | None = None,
        error: str | None = None,
        superseded_by: str | None = None,
    ) -> "Ended":
        """Return a copy that means that; without ``error`` the agent says why it exited badly."""
        if error is None and self.cause is ExitCause.EXITED and status is not RunStatus.SUCCESS:
            error = self.error or self._exit_text
        return self._replace(status=status, reason=reason, error=error, superseded_by=superseded_by)

    @property
    def _exit_text(self) -> str | None:
        if self.questions or not self.exit_code:
            return None
        return f"signal: {-self.exit_code}" if self.exit_code < 0 else f"exit status {self.exit_code}"


def judged(ended: Ended, *, changed: bool) -> Ended:  # noqa: PLR0911  # a table
    """Return the end of work on a task with what it means; ``changed``: the worktree is another.

    Unknown is never success, a refusal is never charged to the task.
    """
    worked = changed or ended.worked
    if ended.cause is ExitCause.NOT_STARTED:
        by = SUPERSEDED_BY_UNAVAILABLE
        return ended.counting_as(RunStatus.FAILED, TerminalReason.NOT_STARTED, ended.error, by)
    if ended.cause in CUT_OFF and not ended.questions:
        words = ended.last_error if ended.cause is ExitCause.IDLE_LIMIT else None
        return ended.counting_as(RunStatus.PAUSED, CUT_OFF[ended.cause], words)
    if ended.questions:
        # Also where its session was refused to go on then: its answers are due first.
        return ended.counting_as(RunStatus.WAITING_USER)
    if ended.is_unknown_end:
        return ended.counting_as(RunStatus.PAUSED, TerminalReason.UNKNOWN_END)
    if ended.refusal is AgentFailure.SESSION_UNKNOWN:
        lost = TerminalReason.SESSION_LOST
        return ended.counting_as(RunStatus.FAILED, lost, superseded_by=SUPERSEDED_BY_LOST_SESSION)
    if ended.refusal is not None and not ended.refusal.is_of_task:
        if worked and ended.session is not None:
            return ended.counting_as(RunStatus.PAUSED, TerminalReason.AGENT_UNAVAILABLE)
        refused = TerminalReason.AGENT_UNAVAILABLE
        return ended.counting_as(RunStatus.FAILED, refused, superseded_by=SUPERSEDED_BY_UNAVAILABLE)
    if ended.refusal is None and ended.error is not None and not worked:
        empty = TerminalReason.WITHOUT_WORK
        return ended.counting_as(RunStatus.FAILED, empty, superseded_by=SUPERSEDED_BY_UNAVAILABLE)
    # The session of a task that was refused cannot go on either: it would be refused again.
    is_good = ended.refusal is None and ended.succeeded and (changed or ended.blocked is None)
    why = "; ".join(filter(None, (ended.lacked, ended.blocked)))
    is_in_vain = why and ended.succeeded and not changed and ended.refusal is None
    error = f"nothing was changed: {why}" if is_in_vain else None
    return ended.counting_as(RunStatus.SUCCESS if is_good else RunStatus.FAILED, error=error)
