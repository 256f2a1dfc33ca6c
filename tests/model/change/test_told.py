"""What a person says to a run at work: what becomes of it, and when it counts as sent."""

from typing import Any

import pytest

from git_blackbird.model.change.change import Asked, Change, Told
from git_blackbird.model.change.stages import Stage, stage_of
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests.model.building import run

ONE, TWO = "Use tabs.", "And\n\nno tests."
BOTH = f"{ONE}\n\n{TWO}"
ENDED: dict[str, Any] = {"completed_at": "2026-01-02T03:04:05Z", "provider_session_ref": "s"}


def change_of(*runs: Run) -> Change:
    return Change.of(History(runs))


@pytest.mark.parametrize(
    ("facts", "stage"),
    [
        ({"check": {"outcome": "due"}, "review_state": "due"}, Stage.SENT_BACK),
        ({"decision_state": DecisionState.PENDING}, Stage.SENT_BACK),
        ({"status": RunStatus.FAILED}, Stage.SENT_BACK_AFTER_FAILURE),
        ({"status": RunStatus.FAILED, "provider_session_ref": None}, Stage.DECIDING_FAILURE),
        ({"check": {"outcome": "due"}, "provider_session_ref": None}, Stage.DECIDING),
        ({"status": RunStatus.PAUSED}, Stage.PAUSED),
        ({"status": RunStatus.WAITING_USER}, Stage.ASKED),
    ],
)
def test_what_was_said_to_a_run_that_ended_sends_it_back(facts: dict[str, Any], stage: Stage) -> None:
    ended = run(1, **{**ENDED, **facts})
    told = ended.told_meanwhile((ONE, TWO))
    assert stage_of(told) is stage
    assert told.messages_while_working == (ONE, TWO)
    assert ended.told_meanwhile(()) == ended
    messages = change_of(told).messages()
    assert messages.texts == (BOTH,)
    assert not messages.sent_texts


def test_a_superseded_run_is_not_sent_back_and_its_task_still_hears_it() -> None:
    over = run(1, RunStatus.FAILED, **ENDED, superseded_by="retry").told_meanwhile((ONE,))
    assert over.decision_state is None
    assert change_of(over).messages().texts == (ONE,)


def test_more_before_it_goes_on_becomes_part_of_the_request() -> None:
    late = run(1, **ENDED).told_meanwhile((ONE,)).told(TWO)
    assert late.decision_feedback == BOTH
    assert run(1, status=RunStatus.RUNNING).told(ONE).told(TWO).messages_while_working == (ONE, TWO)


def test_it_is_sent_once_a_run_that_reached_its_agent_has_it_and_quoted_apart() -> None:
    first = run(1, status=RunStatus.PAUSED, messages_while_working=(ONE, TWO))
    second = run(2, resumes=first.id, message=BOTH)
    lost = run(2, resumes=first.id, message=BOTH, superseded_by="session-lost")
    assert change_of(first).told == (Told(BOTH, is_late=False, is_sent=False),)
    assert change_of(first, lost).told == (Told(BOTH, is_late=False, is_sent=False),)
    assert change_of(first, second).told == (Told(BOTH, is_late=False, is_sent=True),)
    assert change_of(first, second).last_asked(None) is None


def test_a_request_before_it_is_still_what_was_asked_for_last() -> None:
    asked = run(1, decision_state=DecisionState.CHANGES_REQUESTED, decision_feedback="Again.")
    told = run(2, status=RunStatus.PAUSED, messages_while_working=(ONE,))
    change = change_of(asked, told, run(3, message=ONE, decision_state=DecisionState.PENDING))
    assert change.last_asked(None) == Asked("Again.")
    late = change_of(run(1, **ENDED).told_meanwhile((ONE,)), run(2))
    assert late.told == (Told(ONE, is_late=True, is_sent=True),)
    assert late.last_asked(None) is None
