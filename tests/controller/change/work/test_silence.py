"""How runs that no result ended are judged."""

import pytest

from git_blackbird.controller.change.reading_run import judged_answer
from git_blackbird.model.run.ended import Ended, ExitCause, judged
from git_blackbird.model.run.states import RunStatus, TerminalReason


def stopped(cause: ExitCause) -> Ended:
    return Ended(error="killed by signal 2", last_error="slow down", exit_code=-2, cause=cause)


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
    ended = judged(stopped(cause), changed=False)
    assert (ended.status, ended.reason, ended.error) == (RunStatus.PAUSED, reason, words)
    review, _ = judged_answer(stopped(cause), lambda end: end)
    assert (review.error or "").endswith(": slow down") == (words is not None)
