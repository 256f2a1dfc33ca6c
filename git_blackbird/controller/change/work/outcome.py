"""What the end of an agent's process means for its run."""

from dataclasses import dataclass

from git_blackbird.agents.process.outcome import ExitCause, ProcessResult
from git_blackbird.model.run.agent_io import AgentFailure, AgentResult
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_LOST_SESSION,
    SUPERSEDED_BY_UNAVAILABLE,
    RunStatus,
    TerminalReason,
)

LIMIT_REASONS = {
    ExitCause.WALL_LIMIT: TerminalReason.WALL_LIMIT,
    ExitCause.IDLE_LIMIT: TerminalReason.IDLE_LIMIT,
    ExitCause.BUDGET: TerminalReason.BUDGET,
    ExitCause.INTERRUPTED: TerminalReason.INTERRUPTED,
    ExitCause.TOLD: TerminalReason.TOLD,
    ExitCause.WORKER_LOST: TerminalReason.WORKER_LOST,
}


@dataclass(frozen=True)
class RunOutcome:
    """The meaning of a run's end: its status, the reason, and whether it counts."""

    status: RunStatus
    reason: TerminalReason | None = None
    overtaken_by: str | None = None
    error: str | None = None


def classify(ended: ProcessResult, *, changed: bool, worked: bool) -> RunOutcome:
    """Classify the outcome; unknown is never success, a refusal is never charged to the task.

    ``changed``: the worktree is another; ``worked``: the agent's model was at work at all.
    """
    reading = ended.reading
    if ended.cause is ExitCause.NOT_STARTED:
        return RunOutcome(
            RunStatus.FAILED, TerminalReason.NOT_STARTED, SUPERSEDED_BY_UNAVAILABLE, reading.error
        )
    if ended.cause in LIMIT_REASONS and not reading.questions:
        words = reading.last_error if ended.cause is ExitCause.IDLE_LIMIT else None
        return RunOutcome(RunStatus.PAUSED, LIMIT_REASONS[ended.cause], error=words)
    if reading.questions:
        # Also where its session was refused to go on then: its answers are due first.
        return RunOutcome(RunStatus.WAITING_USER)
    if reading.is_unknown_end or reading.refusal is not None or (reading.error is not None and not worked):
        return _judge_error(reading, worked=worked)
    is_good = reading.succeeded and (changed or reading.blocked is None)
    why = "; ".join(filter(None, (reading.lacked, reading.blocked)))
    error = f"nothing was changed: {why}" if why and reading.succeeded and not changed else None
    return RunOutcome(RunStatus.SUCCESS if is_good else RunStatus.FAILED, error=error)


def _judge_error(reading: AgentResult, *, worked: bool) -> RunOutcome:
    if reading.is_unknown_end:
        return RunOutcome(RunStatus.PAUSED, TerminalReason.UNKNOWN_END)
    if reading.refusal is None:
        return RunOutcome(RunStatus.FAILED, TerminalReason.WITHOUT_WORK, SUPERSEDED_BY_UNAVAILABLE)
    if reading.refusal is AgentFailure.SESSION_UNKNOWN:
        return RunOutcome(RunStatus.FAILED, TerminalReason.SESSION_LOST, SUPERSEDED_BY_LOST_SESSION)
    if reading.refusal.is_of_task:
        # Its session cannot go on either: it would be refused again.
        return RunOutcome(RunStatus.FAILED)
    if worked and reading.session is not None:
        return RunOutcome(RunStatus.PAUSED, TerminalReason.AGENT_UNAVAILABLE)
    return RunOutcome(RunStatus.FAILED, TerminalReason.AGENT_UNAVAILABLE, SUPERSEDED_BY_UNAVAILABLE)
