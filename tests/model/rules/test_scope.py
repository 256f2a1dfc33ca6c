"""What is due, in its order."""

from dataclasses import replace
from typing import Any

import pytest

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import pending_decisions, queue
from git_blackbird.model.rules.scope import CallScope, next_item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.evidence import CheckResult, Evidence
from git_blackbird.model.run.history import is_session_lost
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_RETRY,
    CheckOutcome,
    DecisionState,
    ReviewState,
    RunStatus,
    TerminalReason,
)
from tests.model.building import LATER, histories, history, plan_of, run, task, tree

PENDING, REQUESTED = DecisionState.PENDING, DecisionState.CHANGES_REQUESTED
WAITING = Status.WAITING_USER


def requested(number: int, task_id: str, **fields: Any) -> Run:
    return run(number, task_id=task_id, decision_state=REQUESTED, decision_feedback="more", **fields)


def pending(number: int, task_id: str, **fields: Any) -> Run:
    return run(number, task_id=task_id, decision_state=PENDING, **fields)


def only(*names: str) -> CallScope:
    return CallScope(only=frozenset(map(TaskId, names)))


def first(state: PlanState, scope: CallScope) -> tuple[Due, str] | None:
    """The kind and the task of what a call does next."""
    item = next_item(state, scope)
    return None if item is None else (item.due, item.task.id)


CHECK_DUE = CheckResult(outcome=CheckOutcome.DUE)
PLAN = plan_of(task("a", WAITING), task("b", WAITING), task("c"), task("d", deps=["c"]), task("e"))
ALL = histories(requested(5, "b"), pending(1, "a"))


def test_a_change_request_comes_before_older_decisions_and_ready_tasks() -> None:
    due = first(PlanState(PLAN, ALL), CallScope())
    assert due == (Due.REQUEST, "b")


def test_a_check_comes_before_reviews_and_decisions_and_after_change_requests() -> None:
    checked = run(7, task_id="c", check=CHECK_DUE, review_state=ReviewState.DUE)
    both = {**ALL, **histories(checked)}
    assert first(PlanState(PLAN, both), CallScope()) == (Due.REQUEST, "b")
    runs = histories(pending(1, "a"), checked)
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.CHECK, "c")
    assert first(PlanState(PLAN, runs), only("a")) == (Due.DECIDE, "a")
    passed = checked.updated(evidence=Evidence(checks=(CheckResult(outcome=CheckOutcome.PASSED),)))
    runs = histories(pending(1, "a"), passed)
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.REVIEW, "c")


@pytest.mark.parametrize("outcome", [one for one in CheckOutcome if one is not CheckOutcome.DUE])
def test_a_verdict_alone_makes_nothing_due(outcome: CheckOutcome) -> None:
    runs = histories(run(1, task_id="c", check=CheckResult(outcome=outcome)))
    assert first(PlanState(plan_of(task("c", Status.DONE)), runs), CallScope()) is None


def test_a_superseded_run_is_not_checked_any_more() -> None:
    gone = run(1, task_id="c", check=CHECK_DUE).superseded(LATER, SUPERSEDED_BY_RETRY)
    assert first(PlanState(PLAN, histories(gone)), only("c")) == (Due.START, "c")


def test_the_oldest_decision_comes_before_ready_tasks_and_after_questions_of_the_call() -> None:
    runs = histories(
        pending(3, "b"),
        pending(2, "a", startedAt="2026-01-01T05:00:00+05:00"),
        run(1, RunStatus.WAITING_USER, "e"),
    )
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.DECIDE, "a")
    asking = CallScope(asked=frozenset({RunId(f"{1:016x}")}))
    assert first(PlanState(PLAN, runs), asking) == (Due.ANSWER, "e")


def test_a_question_comes_before_ready_tasks_only_in_the_call_that_asks_it() -> None:
    asks = run(1, RunStatus.WAITING_USER, "b")
    runs = histories(asks)
    assert first(PlanState(PLAN, runs), CallScope(asked=frozenset({asks.id}))) == (Due.ANSWER, "b")
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.START, "c")


def test_what_is_at_work_is_not_chosen_again() -> None:
    asks = run(1, RunStatus.WAITING_USER, "b")
    call = CallScope(asked=frozenset({asks.id}), busy=frozenset({TaskId("b")}))
    due = first(PlanState(PLAN, histories(asks)), call)
    assert due == (Due.START, "c")


def test_the_first_ready_leaf_in_plan_order_starts() -> None:
    family = task("p", children=["t2", "t10"]), task("t2", parent="p"), task("t10", parent="p")
    later = replace(task("a"), created_at=LATER)
    plan = plan_of(later, *family, task("t1", Status.DONE))
    assert first(PlanState(plan, {}), CallScope()) == (Due.START, "t2")
    assert first(PlanState(plan_of(task("t2"), task("t10")), {}), CallScope()) == (Due.START, "t10")


def test_nothing_names_what_is_blocked_by_whom() -> None:
    plan = plan_of(task("a", Status.FAILED), task("b", deps=["a"]), task("c", Status.DONE))
    assert first(PlanState(plan, {}), CallScope()) is None
    assert first(PlanState(Plan(), {}), CallScope()) is None


def test_the_oldest_run_that_was_broken_off_comes_before_ready_tasks() -> None:
    runs = histories(
        run(2, RunStatus.PAUSED, "a", terminal_reason=TerminalReason.INTERRUPTED),
        run(1, RunStatus.PAUSED, "b", terminal_reason=TerminalReason.WALL_LIMIT),
    )
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.ASK_PAUSED, "b")
    assert first(PlanState(PLAN, runs), only("a")) == (Due.CONTINUE, "a")
    assert first(PlanState(PLAN, runs), only("c")) == (Due.START, "c")


@pytest.mark.parametrize("status", [RunStatus.WAITING_USER, RunStatus.FAILED])
def test_waiting_and_failed_tasks_stop_nothing(status: RunStatus) -> None:
    runs = histories(run(1, status, "a"), run(2, status, "b"))
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.START, "c")


def test_only_touches_the_named_tasks() -> None:
    assert first(PlanState(PLAN, ALL), only("a")) == (Due.DECIDE, "a")
    assert first(PlanState(PLAN, ALL), only("e")) == (Due.START, "e")
    assert first(PlanState(PLAN, ALL), only("d")) is None
    assert first(PlanState(PLAN, ALL), only("gone")) is None


@pytest.mark.parametrize(("left", "starts"), [(None, True), (1, True), (0, False), (-1, False)])
def test_a_limit_ends_starts_and_nothing_else(left: int | None, starts: bool) -> None:
    call = CallScope(starts_left=left)
    assert first(PlanState(PLAN, {}), call) == ((Due.START, "c") if starts else None)
    assert first(PlanState(PLAN, ALL), call) == (Due.REQUEST, "b")


def test_superseded_runs_and_reviews_are_owed_nothing() -> None:
    gone = {"superseded_at": LATER, "superseded_by": SUPERSEDED_BY_RETRY}
    runs = histories(pending(1, "a", **gone), requested(2, "b", **gone), pending(3, "c", run_type="review"))
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.START, "c")
    assert {item.due for item in queue(PlanState(PLAN, runs))} == {Due.STUCK, Due.START}


def test_tasks_of_another_branch_block_nothing() -> None:
    runs = histories(pending(1, "elsewhere"), requested(2, "elsewhere2"), run(3, RunStatus.PAUSED, "else3"))
    assert first(PlanState(PLAN, runs), CallScope()) == (Due.START, "c")
    assert {item.due for item in queue(PlanState(PLAN, runs))} == {Due.STUCK, Due.START}


def test_a_lost_session_is_no_longer_resumed_but_owed_a_new_one() -> None:
    asked = requested(1, "a")
    lost = run(
        2,
        RunStatus.FAILED,
        "a",
        resumes=asked.id,
        terminal_reason=TerminalReason.SESSION_LOST,
        superseded_at=LATER,
        superseded_by="session-lost",
    )
    plan, runs = plan_of(task("a", WAITING)), histories(asked, lost)
    assert is_session_lost(runs[TaskId("a")], asked)
    assert first(PlanState(plan, runs), CallScope()) == (Due.REQUEST, "a")
    (owed,) = queue(PlanState(plan, runs))
    assert (owed.words, owed.command) == ("its session is lost", "git blackbird restart a")


def test_a_run_that_never_had_a_session_has_lost_it() -> None:
    without = requested(1, "a", provider_session_ref=None)
    assert is_session_lost(history(without), without)
    state = PlanState(plan_of(task("a", WAITING)), histories(without))
    assert first(state, CallScope()) == (Due.REQUEST, "a")


def test_a_resume_that_failed_for_another_reason_has_not_lost_the_session() -> None:
    asked = requested(1, "a")
    failed = run(2, RunStatus.FAILED, "a", resumes=asked.id)
    assert not is_session_lost(history(asked, failed), asked)


def test_pending_decisions_come_oldest_first_whatever_their_ids() -> None:
    plan = plan_of(*(task(name, WAITING) for name in "abc"))
    runs = histories(
        pending(9, "a", startedAt="2026-01-01T00:00:00.000000002Z"),
        pending(8, "b", startedAt="2026-01-01T00:00:00.000000001Z"),
        pending(7, "c", startedAt="2026-01-01T02:00:00+02:00"),
    )
    assert [due.task.id for due in pending_decisions(PlanState(plan, runs))] == ["c", "b", "a"]


def test_everything_owed_comes_with_its_command() -> None:
    names = ["it's", "b", "c", "d", "e"]
    plan = plan_of(*(task(name, WAITING) for name in names))
    questions = [{"id": "q 1", "prompt": "?"}, {"id": "q2", "prompt": "?"}]
    runs = histories(
        run(1, RunStatus.PAUSED, "b"),
        run(2, RunStatus.WAITING_USER, "c", questions=questions),
        requested(3, "d"),
        pending(5, "it's"),
        run(4, RunStatus.PAUSED, "e", provider_session_ref=None),
    )
    assert [(one.due.value, one.command) for one in queue(PlanState(plan, runs))] == [
        ("change_request", "git blackbird resume d"),
        (
            "decision",
            "git blackbird decide 'it'\\''s' --approve    # or --request-changes -m TEXT, or --reject",
        ),
        ("answers", "git blackbird resume c    # or --answer 'q 1'=VALUE --answer q2=VALUE"),
        ("interrupted", "git blackbird resume b"),
        ("interrupted", "git blackbird restart e"),
    ]


def test_a_decision_on_a_failed_run_is_due() -> None:
    failed = pending(1, "a", status=RunStatus.FAILED)
    plan, runs = tree({"a": Status.FAILED}, {}), histories(failed)
    assert first(PlanState(plan, runs), CallScope()) == (Due.DECIDE, "a")


def test_a_leaf_that_names_no_file_of_what_is_at_work_starts_first() -> None:
    prompts = {"a": "write f.txt", "b": "append to f.txt", "c": "write g.txt"}
    plan = plan_of(*(replace(task(name), prompt=prompt) for name, prompt in prompts.items()))
    state, at_work = PlanState(plan, {}), CallScope(busy=frozenset({TaskId("a")}))
    assert first(state, at_work) == (Due.START, "c")
    busy = at_work._replace(busy=at_work.busy | {TaskId("c")})
    assert first(state, busy) == (Due.START, "b")
    assert first(state, CallScope()) == (Due.START, "a")
