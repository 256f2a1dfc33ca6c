"""How runs that no result ended are judged."""

import pytest

from git_blackbird.agents.process.outcome import ExitCause, ProcessResult
from git_blackbird.controller.change.review.reviewer import classify_answer
from git_blackbird.controller.change.work.outcome import classify
from git_blackbird.model.run.agent_io import AgentResult
from git_blackbird.model.run.states import RunStatus, TerminalReason

WAITING = AgentResult(error="killed by signal 2", last_error="slow down")


def stopped(cause: ExitCause) -> ProcessResult:
    return ProcessResult(-2, cause, WAITING)


@pytest.mark.parametrize(
    ("cause", "reason", "words"),
    [
        (ExitCause.IDLE_LIMIT, TerminalReason.IDLE_LIMIT, "slow down"),
        (ExitCause.WALL_LIMIT, TerminalReason.WALL_LIMIT, None),
        (ExitCause.INTERRUPTED, TerminalReason.INTERRUPTED, None),
    ],
)
def test_what_an_agent_waited_for_in_silence_is_said_where_the_silence_ended_it(
    cause: ExitCause, reason: TerminalReason, words: str | None
) -> None:
    outcome = classify(stopped(cause), changed=False, worked=True)
    assert (outcome.status, outcome.reason, outcome.error) == (RunStatus.PAUSED, reason, words)
    review, _ = classify_answer(stopped(cause), lambda reading: reading)
    assert (review.error or "").endswith(": slow down") == (words is not None)
