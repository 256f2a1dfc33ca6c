"""Histories from which nothing follows but that a task is done may be left out of all conclusions."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import Change, Histories
from git_blackbird.model.change.stages import is_open
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.queue import Item, queue
from git_blackbird.model.rules.scope import CallScope, next_item, review_stops
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import derive_leaf
from git_blackbird.model.rules.takers import TAKERS
from git_blackbird.model.run.history import History, SavedFeedback
from git_blackbird.model.run.states import (
    ReviewState,
)
from tests.model.building import tree
from tests.model.rules.states import DRAWN, RECORDS, history_of, planned
from tests.support import examples


def conclusions(plan: Plan, histories: Mapping[TaskId, History], saved: SavedFeedback) -> list[object]:
    """Everything that the loop and ``status`` conclude from a state."""
    state = PlanState(plan, histories, saved, is_gated=True)
    return [
        dict(state.unreadable),
        dict(state.feedback),
        state.latest_runs,
        state.open_runs,
        state.plan.tasks,
        *map(facts, queue(state)),
        *(list(take(state)) for take in TAKERS.values()),
        *(facts(next_item(state, scope)) for scope in SCOPES),
        *(tuple(map(facts, review_stops(state, scope))) for scope in SCOPES),
    ]


SCOPES = (
    CallScope(),
    CallScope(review=TaskId("b")),
    CallScope(only=frozenset({TaskId("a"), TaskId("d")})),
)


def facts(item: Item | None) -> object:
    """What an item says."""
    if item is None:
        return None
    return item.due, item.task, item.run, item.words, item.why, item.command, item.unblocks, item.details


@given(DRAWN)
@settings(max_examples=examples(300), deadline=None)
def test_what_follows_is_the_same_as_from_all_histories(drawn: Any) -> None:
    plan, histories, saved = planned(drawn)
    everything = Histories(histories, histories)
    assert conclusions(plan, histories, saved) == conclusions(plan, everything, saved)


@given(RECORDS, st.sampled_from(Status))
@settings(max_examples=examples(500), deadline=None)
def test_of_a_closed_history_nothing_follows_but_that_its_task_is_done(records: Any, status: Status) -> None:
    told = history_of("a", records, 1)
    if Change.of(told).is_closed:
        leaf = tree({"a": status}, {}).tasks[TaskId("a")]
        assert derive_leaf(leaf, told).status is Status.DONE
        assert (*told.at_work, *told.faults) == ()
        assert not told.is_under_review
        assert not any(is_open(one) or one.review_state is ReviewState.BY_HAND for one in told.recent)
