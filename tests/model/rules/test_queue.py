"""The queue: every kind of thing to do, in one order, for calls and readers alike."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.change.stages import Band, Due, Stops
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import (
    Flagged,
    Item,
    Questions,
    Seen,
    queue,
)
from git_blackbird.model.rules.scope import ASKS, CallScope, next_item
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.broken import Broken
from git_blackbird.model.run.history import RecordError, SavedFeedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus, TerminalReason
from tests.model.building import LATER, histories, plan_of, run, task
from tests.model.rules.states import BROKEN, DRAWN, everything, planned
from tests.support import examples

PENDING, REQUESTED = DecisionState.PENDING, DecisionState.CHANGES_REQUESTED
WALL = TerminalReason.WALL_LIMIT


def pending(number: int, task_id: str, **fields: Any) -> Run:
    return run(number, task_id=task_id, decision_state=PENDING, **fields)


def kinds(items: Any) -> list[tuple[str, str]]:
    return [(item.due.value, item.task.id) for item in items]


def test_each_kind_is_in_its_band_and_a_person_first_answers_what_unblocks_most() -> None:
    assert kinds(queue(*everything())) == [
        ("half_written", "undone"),
        ("approval", "approved"),
        ("change_request", "request"),
        ("check", "check"),
        ("change_review", "review"),
        ("landing", "land"),
        ("done_criteria", "landed"),
        ("answers", "answer"),
        ("decision", "decide"),
        ("decision", "approved"),
        ("paused", "ask"),
        ("review_feedback", "flagged"),
        ("review_failing", "bad"),
        ("broken", "broken"),
        ("failed", "failed"),
        ("stuck", "stuck"),
        ("unreadable", "odd"),
        ("review_due", "due"),
        ("review_without_verdict", "again"),
        ("interrupted", "go-on"),
        ("unwatched", "closed"),
        ("ready", "ready"),
    ]
    missing = set(Due) - {item.due for item in queue(*everything())}
    assert not missing, "have an item of it in everything() (tests/model/rules/states.py)"


def test_an_item_says_what_there_is_to_know_whatever_its_kind() -> None:
    by_kind = {item.due: item for item in queue(*everything())}
    answer, failing, odd = by_kind[Due.ANSWER], by_kind[Due.REVIEW_FAILED], by_kind[Due.UNREADABLE]
    assert isinstance(answer.details, Questions)
    assert (answer.unblocks, answer.words) == (2, "waits for answers")
    assert isinstance(failing.details, Flagged)
    assert odd.details == odd.fault
    assert (odd.words, odd.why) == ("one of its records cannot be used", "it is odd")
    assert all(item.words and item.command for item in by_kind.values())
    assert by_kind[Due.CLOSE].words == "its process is gone"


def test_what_is_broken_is_due_as_long_as_its_cause_and_the_criterion_are_there() -> None:
    state, _ = everything()
    (item,) = (item for item in queue(state) if item.due is Due.BROKEN)
    assert (item.words, item.why) == ("broken since landed", "its criterion $ make test failed: exit 2")
    assert (item.since, item.details) == (LATER, Broken(criteria=(BROKEN,)))
    task_id, cause = TaskId("broken"), state.history(BROKEN.task_id).latest
    assert cause is not None
    undone = run(13, task_id="landed", undone_at=LATER)
    without = replace(state.plan.tasks[task_id], acceptance_criteria=("$ make other",))
    said = state.saved_feedback.by_leaf[TaskId("flagged")]
    for other in (
        replace(state, histories={**state.histories, **histories(undone)}),
        replace(state, saved=state.saved.replaced(without)),
        replace(state, saved_feedback=SavedFeedback({task_id: said})),
    ):
        assert Due.BROKEN not in {one.due for one in queue(other) if one.task.id == task_id}
    owed = replace(state, saved_feedback=SavedFeedback({task_id: said}))
    assert ("review_feedback", "broken") in kinds(queue(owed))


def test_counting_what_answers_unblock_waits_until_there_are_two() -> None:
    state = PlanState(plan_of(task("a"), task("b")), histories(pending(1, "a")))
    assert [item.due for item in queue(state)] == [Due.DECIDE, Due.START]
    assert "unblocked" not in vars(state)
    two = PlanState(state.saved, histories(pending(1, "a"), pending(2, "b")))
    assert kinds(queue(two)) == [("decision", "a"), ("decision", "b")]
    assert "unblocked" in vars(two)


def test_what_is_at_work_or_waits_for_its_slot_is_seen_and_budgets_change_the_command() -> None:
    reviewed = run(1, task_id="a", review_state=ReviewState.DUE)
    landing = run(2, task_id="b", landing="due", worktree="/w/b")
    paused = run(3, RunStatus.PAUSED, "c")
    state = PlanState(plan_of(*map(task, "abc")), histories(reviewed, landing, paused))
    seen = Seen(
        at_work=frozenset({TaskId("a")}),
        raising={TaskId("c"): "git blackbird config budget.task.usd 9"},
        lands_after={TaskId("b"): TaskId("x")},
    )
    land, goes_on = queue(state, seen)
    assert land.why == "x lands before: it resolves a conflict in the same files"
    assert goes_on.command == "git blackbird config budget.task.usd 9"


HALF = run(
    1,
    task_id="a",
    landing="due",
    worktree="/w/a",
    moving="land",
    moving_trees={"base": "a" * 40, "head": "b" * 40},
)
STOPPING = {
    "a decision in place": pending(1, "a"),
    "a paused run in place": run(1, RunStatus.PAUSED, "a", terminal_reason=WALL),
    "half of a landing": HALF,
}
HOLDING_NOTHING = {
    "a decision apart": pending(1, "a", worktree="/w/a"),
    "a paused run apart": run(1, RunStatus.PAUSED, "a", worktree="/w/a", terminal_reason=WALL),
    "a question": run(1, RunStatus.WAITING_USER, "a"),
    "a failure": run(1, RunStatus.FAILED, "a"),
}


@pytest.mark.parametrize("what", STOPPING)
def test_what_is_undecided_in_place_stops_starts_also_where_nobody_answers(what: str) -> None:
    others = run(2, RunStatus.PAUSED, "b")
    state = PlanState(plan_of(*map(task, "abc")), histories(STOPPING[what], others))
    first = next_item(state, CallScope())
    assert first is not None
    assert (first.task.id, first.stops) == ("a", Stops.STARTS)
    assert next_item(state, CallScope(busy=frozenset({TaskId("a")}))) is None


@pytest.mark.parametrize("what", HOLDING_NOTHING)
def test_what_is_apart_stops_nothing(what: str) -> None:
    state = PlanState(plan_of(*map(task, "ab")), histories(HOLDING_NOTHING[what]))
    started = next_item(state, CallScope(busy=frozenset({TaskId("a")})))
    assert started is not None
    assert (started.due, started.task.id) == (Due.START, "b")


def test_a_failed_review_stops_starts_but_of_what_is_asked_for_by_name() -> None:
    state, _ = everything()
    only_parents = {key: value for key, value in state.histories.items() if key == "bad"}
    left = plan_of(*(state.saved.tasks[TaskId(name)] for name in ("bad", "bad-1", "ready")))
    held = PlanState(left, only_parents, is_gated=True)
    assert next_item(held, CallScope()) is None
    started = next_item(held, CallScope(only=frozenset({TaskId("ready")})))
    assert started is not None
    assert started.due is Due.START


@given(DRAWN)
@settings(max_examples=examples(300), deadline=None)
def test_a_call_does_the_first_item_of_the_queue_that_it_may(drawn: Any) -> None:
    state = PlanState(*planned(drawn), is_gated=True)
    items, scope = list(queue(state)), CallScope()
    assert [item.due.band for item in items] == sorted(item.due.band for item in items)
    item = next_item(state, scope)
    if item is not None and item.due not in {Due.START, Due.CONTINUE}:
        first = next(one for one in items if scope.may_do(one))
        assert (first.due, first.task, first.run) == (item.due, item.task, item.run)
    if item is not None and item.due is Due.START:
        assert not any(map(scope.is_stopped_by, items))
    # Whoever is busy, what stops starts goes on to stop them.
    asked = frozenset(one.task.id for one in items if one.due in ASKS)
    later = next_item(state, CallScope(busy=asked))
    if any(one.stops is Stops.STARTS and one.due in ASKS for one in items):
        assert later is None or later.due is not Due.START


@given(DRAWN)
@settings(max_examples=examples(200), deadline=None)
def test_decisions_are_asked_for_in_the_order_in_which_they_are_listed(drawn: Any) -> None:
    state = PlanState(*planned(drawn))
    listed = [item.task.id for item in queue(state) if item.due is Due.DECIDE]
    scope, asked = CallScope(starts_agents=False, starts_left=0), list[TaskId]()
    while (item := next_item(state, scope)) is not None:
        asked += [item.task.id] if item.due is Due.DECIDE else []
        scope = scope._replace(busy=scope.busy | {item.task.id})
    assert asked == listed


@given(DRAWN)
@settings(max_examples=examples(200), deadline=None)
def test_what_is_not_undone_and_half_done_is_due_once(drawn: Any) -> None:
    state = PlanState(*planned(drawn))
    seen: Mapping[tuple[Due, TaskId, RunId | None, RecordError | None], Item]
    items = list(queue(state))
    seen = {(item.due, item.task.id, item.run_id, item.fault): item for item in items}
    assert len(seen) == len(items)
    assert_one_for_each_task(state, items)
    assert not any(item.due is Due.START and item.task.status is Status.DONE for item in items), LATER


def test_a_task_has_one_item_whatever_its_kind() -> None:
    state, seen = everything()
    assert_one_for_each_task(state, queue(state, seen))


def assert_one_for_each_task(state: PlanState, items: Iterable[Item]) -> None:
    of_runs = [item.task.id for item in items if item.due.band in {Band.CHANGE, Band.PERSON, Band.RUN}]
    readable = Counter(task_id for task_id in of_runs if task_id not in state.unreadable)
    twice = [task_id for task_id, count in readable.items() if count > 1]
    assert not twice, "a task has one item in the bands CHANGE, PERSON and RUN: the kinds exclude one another"
