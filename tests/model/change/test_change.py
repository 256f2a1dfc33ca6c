"""What a task is still owed, and which runs are one change."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.change import Asked, Change, count_rounds, ends_change, total_cost
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_RETRY,
    SUPERSEDED_BY_STATUS,
    SUPERSEDED_BY_UNAVAILABLE,
    DecisionState,
    Requester,
    RunStatus,
)
from tests.model.building import LATER, history, run
from tests.support import examples

CHANGES = DecisionState.CHANGES_REQUESTED


def asks(number: int, *questions: str, **fields: Any) -> Run:
    asked = [{"id": name, "prompt": f"{name} of {number}?"} for name in questions]
    return run(number, RunStatus.WAITING_USER, questions=asked, **fields)


def answered(number: int, status: RunStatus = RunStatus.PAUSED, **answers: str) -> Run:
    return run(number, status, answers=[{"id": name, "value": value} for name, value in answers.items()])


def test_a_round_ends_with_a_change_request_and_not_with_a_pause() -> None:
    paused = RunStatus.PAUSED
    runs = [
        run(1, paused),
        run(2, decision_feedback="One.", decision_state=CHANGES),
        run(3, paused),
        run(4, requested_by="reviewers", decision_feedback="Two.", decision_state=CHANGES),
        run(5, paused, message="Faster."),
        run(6, decision_feedback="Three.", decision_state=CHANGES),
    ]
    assert [count_rounds(runs[:end]) for end in range(1, 7)] == [1, 1, 2, 2, 3, 3]
    assert [request.text for request in Change.of(history(*runs)).requests] == ["One.\n\nFaster."]
    runs = [*runs, run(7, decision_state=DecisionState.PENDING)]
    assert count_rounds(runs) == 4
    requests = Change.of(history(*runs)).requests
    assert [(request.text, len(request.runs)) for request in requests] == [
        ("One.\n\nFaster.", 4),
        ("Three.", 1),
    ]
    assert Change.of(history(*runs)).last_request == requests[-1]
    assert Change.of(history(*runs[:2])).requests == ()


def test_what_was_asked_for_last_is_known_whoever_asked() -> None:
    paused = RunStatus.PAUSED
    pending: dict[str, Any] = {"decision_state": DecisionState.PENDING}

    def by(requester: str) -> dict[str, Any]:
        return {
            "requested_by": requester,
            "decision_feedback": f"From {requester}.",
            "decision_state": CHANGES,
        }

    def asked(*runs: Run, review: Feedback | None = None) -> Asked | None:
        return Change.of(history(*runs)).last_asked(review)

    person = run(2, decision_feedback="One.", decision_state=CHANGES)
    review = Feedback(parent_task_id=TaskId("p"), review_run_id=RunId("0" * 16), feedback="Shorter.")
    assert asked(run(1, **pending)) is None
    assert asked(run(1, **pending), review=review) == Asked("Shorter.", TaskId("p"))
    assert asked(run(1, paused), run(2, message="Go on.", **pending), review=review) == Asked("Go on.")
    assert asked(person, run(3, **pending)) == Asked("One.")
    assert asked(person, run(3, paused, message="Faster."), run(4, **pending)) == Asked("One.\n\nFaster.")
    for requester in Requester:
        last = Asked(f"From {requester}.", requester)
        assert asked(person, run(3, **by(requester)), run(4, **pending)) == last
    assert asked(run(1, **by("check")), person, run(3, **pending)) == Asked("One.")
    landing = run(1, superseded_at=LATER, **by("landing"))
    assert asked(landing, run(2, **pending)) is None


@pytest.mark.parametrize(
    ("finishes", "fields"),
    [
        (True, {}),
        (True, {"decision_state": DecisionState.APPROVED_CONTINUE}),
        (True, {"decision_state": DecisionState.APPROVED_QUIT, "status": RunStatus.FAILED}),
        (False, {"decision_state": DecisionState.PENDING}),
        (False, {"decision_state": CHANGES}),
        (False, {"decision_state": DecisionState.REJECTED}),
        (False, {"status": RunStatus.FAILED}),
        (False, {"status": RunStatus.PAUSED}),
        (True, {"status": RunStatus.PAUSED, "superseded_by": f"{SUPERSEDED_BY_STATUS}done"}),
        (False, {"status": RunStatus.PAUSED, "superseded_by": f"{SUPERSEDED_BY_STATUS}todo"}),
        (False, {"decision_state": DecisionState.REJECTED, "superseded_by": SUPERSEDED_BY_RETRY}),
    ],
)
def test_which_runs_finish_a_task(finishes: bool, fields: dict[str, Any]) -> None:
    assert ends_change(run(1, **fields)) == finishes


def test_latest_newest_and_live_are_no_reviewers() -> None:
    live = run(1, RunStatus.RUNNING)
    gone = run(2, RunStatus.FAILED, superseded_at=LATER)
    both = history(live, gone, run(3, run_type="review"), run(4, run_type="spec_review"))
    assert (both.latest, both.newest, both.live, both.work_runs) == (live, gone, live, (live, gone))
    assert (History().latest, History().newest, History().live) == (None, None, None)


def decided(*runs: Run) -> tuple[Run, ...]:
    """The runs that a decision is about where approvals commit."""
    change = Change.of(history(*runs))
    return (*change.uncommitted, *change.runs)


def test_the_change_begins_after_the_last_run_that_finished_the_task() -> None:
    first, second, third = run(1), run(2, RunStatus.FAILED), run(3, decision_state=DecisionState.PENDING)
    assert Change.of(history(first)).runs == (first,)
    assert Change.of(history(first, second)).runs == (second,)
    assert Change.of(history(first, second, third)).runs == (second, third)
    assert Change.of(history()).runs == ()


def test_where_approvals_are_committed_a_change_has_all_finished_runs_in_no_commit() -> None:
    approved = run(1, decision_state=DecisionState.APPROVED_CONTINUE)
    first, second, third = run(2), run(3, RunStatus.FAILED), run(4)
    assert decided(approved, first, second, third) == (
        first,
        second,
        third,
    )
    for fields in (
        {"commits": ("a" * 40,)},
        {"start_commit": "a" * 40, "end_commit": "b" * 40},
        {"run_type": "manual"},
        {"superseded_by": f"{SUPERSEDED_BY_STATUS}done"},
    ):
        committed = run(2, **fields)
        assert decided(approved, committed, second, third) == (
            second,
            third,
        )


def test_requests_messages_and_answers_are_owed_oldest_first_and_once() -> None:
    told = history(
        run(1, RunStatus.PAUSED, message="be quick"),
        run(2, decision_state=CHANGES, decision_feedback="more tests", message="be quick"),
        asks(3, "db"),
        answered(4, db="postgres"),
    )
    owed = Change.of(told).messages()
    assert owed.texts == ("be quick", "more tests")
    assert [(question.id, question.prompt) for question in owed.questions] == [("db", "db of 3?")]
    assert [(answer.id, answer.value) for answer in owed.answers] == [("db", "postgres")]


def test_what_an_earlier_run_was_sent_is_told_from_what_none_was() -> None:
    unavailable: dict[str, Any] = {"superseded_at": LATER, "superseded_by": SUPERSEDED_BY_UNAVAILABLE}
    asked = run(1, message="be quick", decision_state=CHANGES, decision_feedback="more tests")
    unheard = run(2, RunStatus.FAILED, message="and docs", **unavailable)
    owed = Change.of(history(asked, unheard)).messages()
    assert owed.texts == ("be quick", "more tests", "and docs")
    assert (owed.select(sent=True).texts, owed.select(sent=False).texts) == (
        ("be quick",),
        ("more tests", "and docs"),
    )
    owed = Change.of(history(asked, unheard, run(3, RunStatus.PAUSED))).messages()
    assert owed.sent_texts == set(owed.texts)
    assert not owed.select(sent=False)
    by_hand = run(3, RunStatus.PAUSED).updated(by_hand=True)
    assert Change.of(history(asked, unheard, by_hand)).messages().sent_texts == {"be quick"}
    repeated = run(3, decision_state=CHANGES, decision_feedback="more tests")
    assert Change.of(history(asked, unheard, repeated)).messages().select(sent=False).texts == ("more tests",)


def test_feedback_of_a_review_was_sent_once_a_run_began_after_it() -> None:
    def feedback(updated_at: str) -> Feedback:
        return Feedback(
            parent_task_id=TaskId("p"), review_run_id=RunId("0" * 16), feedback="more", updated_at=updated_at
        )

    before, after = feedback("2000-01-01T00:00:00Z"), feedback("2099-01-01T00:00:00Z")
    assert Change.of(history(run(1))).messages(before).select(sent=True).review == before
    assert Change.of(history(run(1))).messages(after).select(sent=False).review == after


def test_an_overtaken_request_stays_owed_and_an_overtaken_decision_does_not() -> None:
    gone: dict[str, Any] = {"superseded_at": LATER, "superseded_by": SUPERSEDED_BY_RETRY}
    told = history(
        run(1, decision_state=CHANGES, decision_feedback="more tests", **gone),
        run(2, decision_state=DecisionState.REJECTED, decision_feedback="superseded by retry", **gone),
    )
    assert Change.of(told).messages().texts == ("more tests",)


def test_an_id_that_is_asked_again_keeps_each_answer_with_its_question() -> None:
    told = history(asks(1, "q1", "x"), answered(2, q1="postgres", x="yes"), asks(3, "q1"))
    halfway = Change.of(told).messages()
    assert [question.prompt for question in halfway.questions] == ["q1 of 1?", "x of 1?"]
    whole = Change.of(history(*told.runs, answered(4, q1="80"))).messages()
    assert {question.id: question.prompt for question in whole.questions} == {
        "q1 (0000000000000001)": "q1 of 1?",
        "x": "x of 1?",
        "q1 (0000000000000003)": "q1 of 3?",
    }
    assert {answer.id: answer.value for answer in whole.answers} == {
        "q1 (0000000000000001)": "postgres",
        "x": "yes",
        "q1 (0000000000000003)": "80",
    }


def test_the_last_answer_to_one_question_counts() -> None:
    told = history(asks(1, "q"), answered(2, RunStatus.FAILED, q="no"), answered(3, q="yes"))
    assert [answer.value for answer in Change.of(told).messages().answers] == ["yes"]


def test_an_answer_whose_question_is_gone_is_still_told() -> None:
    owed = Change.of(history(answered(1, q="yes"))).messages()
    assert (owed.questions, [answer.value for answer in owed.answers]) == ((), ["yes"])


def test_owed_words_are_true_when_there_is_something_to_say() -> None:
    assert not PendingMessages()
    assert PendingMessages(("more",))


STATUSES = st.sampled_from([status for status in RunStatus if status != RunStatus.RUNNING])
DECISIONS = st.none() | st.sampled_from(list(DecisionState))
OVERTAKEN = st.sampled_from(
    [None, SUPERSEDED_BY_RETRY, f"{SUPERSEDED_BY_STATUS}done", f"{SUPERSEDED_BY_STATUS}todo"]
)
LEGS = st.lists(st.tuples(STATUSES, DECISIONS, OVERTAKEN, st.booleans()), max_size=8)


def _numbered_run(number: int, drawn: tuple[RunStatus, DecisionState | None, str | None, bool]) -> Run:
    """A run that says its number in every way a run can be told something."""
    status, decision, overtaken, is_review = drawn
    return run(
        number,
        status,
        run_type="review" if is_review else "execute",
        decision_state=decision,
        decision_feedback=f"request {number}" if decision == CHANGES else None,
        superseded_by=overtaken,
        superseded_at=LATER if overtaken else None,
        message=f"message {number}",
        questions=[{"id": f"q{number}", "prompt": "?"}],
        answers=[{"id": f"q{number - 1}", "value": f"answer {number}"}],
    )


@given(LEGS)
@settings(max_examples=examples(300), deadline=None)
def test_all_that_was_said_since_done_is_owed_and_nothing_before(legs: list[Any]) -> None:
    runs = [_numbered_run(number, drawn) for number, drawn in enumerate(legs, start=1)]
    own = [one for one in runs if not one.is_review]
    ends = [place for place, one in enumerate(own) if ends_change(one)]
    after = own[ends[-1] + 1 :] if ends else own
    owed = Change.of(History(tuple(runs))).messages()
    expected = [text for one in after for text in (one.message, one.decision_feedback) if text]
    assert list(owed.texts) == expected
    assert [answer.value for answer in owed.answers] == [
        answer.value for one in after for answer in one.answers
    ]


@given(LEGS)
@settings(max_examples=examples(200), deadline=None)
def test_a_change_is_whole_and_never_begins_before_done(legs: list[Any]) -> None:
    runs = tuple(_numbered_run(number, drawn) for number, drawn in enumerate(legs, start=1))
    told = History(runs)
    change = Change.of(told).runs
    assert change == told.work_runs[len(told.work_runs) - len(change) :]
    assert not any(map(ends_change, change[:-1]))
    before = told.work_runs[: len(told.work_runs) - len(change)]
    assert not before or ends_change(before[-1])
    assert (change == ()) == (told.work_runs == ())


def test_costs_add_up_where_they_were_told() -> None:
    assert total_cost([run(1, cost_usd=0.25), run(2), run(3, cost_usd=0.5)]) == 0.75
    assert total_cost([run(1)]) is None


def test_a_start_that_reached_no_agent_leaves_the_change_of_a_done_task_as_it_was() -> None:
    vain = run(2, RunStatus.FAILED, superseded_by=SUPERSEDED_BY_UNAVAILABLE, superseded_at=LATER)
    change = Change.of(history(run(1), vain))
    assert (change.history.latest, change.runs) == (run(1), (vain,))
    assert (change.review_round, change.count_sent_back(Requester.CHECK), change.requests) == (1, 0, ())
