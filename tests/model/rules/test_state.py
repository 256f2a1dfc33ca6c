"""Histories from which nothing follows but that a task is done may be left out of all conclusions."""

from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import Change
from git_blackbird.model.change.histories import Histories
from git_blackbird.model.change.stages import is_open
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import BY_STATE, pending_items, stuck_tasks
from git_blackbird.model.rules.next_action import CallScope, next_action
from git_blackbird.model.rules.state import PlanState, blocked_parents
from git_blackbird.model.rules.status import derive_leaf
from git_blackbird.model.run.history import History, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.provenance import RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    PROGRAM,
    SUPERSEDED_BY_RETRY,
    DecisionState,
    ReviewState,
    RunStatus,
    RunType,
)
from tests.model.building import LATER, STAMP, run, tree
from tests.support import examples

PARENTS = {"a": "p", "b": "p", "c": "p"}
NAMES = ("a", "b", "c", "d", "p")


def mostly(usual: Any, others: Iterable[Any]) -> st.SearchStrategy[Any]:
    """The usual value three times out of four."""
    return st.integers(0, 3).flatmap(
        lambda draw: st.sampled_from([usual, *others]) if draw == 0 else st.just(usual)
    )


def is_possible(fields: dict[str, Any]) -> bool:
    try:
        build("a", 1, fields)
    except ValueError:
        return False
    return True


RUN = st.fixed_dictionaries(
    {
        "status": mostly(RunStatus.SUCCESS, RunStatus),
        "run_type": mostly(RunType.EXECUTE, [RunType.MANUAL, RunType.REVIEW]),
        "program": st.sampled_from([PROGRAM, PROGRAM, None]),
        "decision_state": mostly(None, DecisionState),
        "review_state": mostly(None, ReviewState),
        "undone_at": mostly(None, [LATER]),
        "superseded_by": mostly(None, [SUPERSEDED_BY_RETRY]),
        "provider_session_ref": st.sampled_from(["session", None]),
        "parent_review_passed": st.sampled_from([None, False, True]),
    }
).filter(is_possible)
ODD = mostly((), [("odd",)])
RECORDS = st.tuples(st.lists(RUN, max_size=3), ODD)
FILE = mostly("none", ["feedback", "broken"])


def history_of(name: str, drawn: tuple[list[dict[str, Any]], Any], first: int) -> History:
    runs, faults = drawn
    return History(
        tuple(build(name, number, fields) for number, fields in enumerate(runs, start=first)),
        tuple(RecordError(f"runs/{name}/x.json", what) for what in faults),
    )


def build(name: str, number: int, fields: dict[str, Any]) -> Run:
    is_over = fields["superseded_by"] is not None
    verdict = {"parent_review_resume_task_ids": ["a"], "parent_review_feedback": "more"}
    told = {key: value for key, value in fields.items() if key != "status"}
    superseded = {"superseded_at": LATER} if is_over else {}
    return run(number, fields["status"], name, **{**told, **superseded, **verdict})


def from_scratch(histories: Mapping[TaskId, History]) -> dict[TaskId, History]:
    """The same histories, all of which are looked at."""
    return Histories(histories, histories)


def feedback_files(files: Mapping[str, str]) -> SavedFeedback:
    said = Feedback(parent_task_id=TaskId("p"), review_run_id=run(1).id, feedback="more", created_at=STAMP,
                    updated_at=STAMP)  # fmt: skip
    return SavedFeedback(
        {TaskId(name): said for name, kind in files.items() if kind == "feedback"},
        tuple(
            RecordError(f"feedback/{name}.json", "odd") for name, kind in files.items() if kind == "broken"
        ),
    )


def conclusions(plan: Plan, histories: Mapping[TaskId, History], saved: SavedFeedback) -> list[object]:
    """Everything that the loop and ``status`` conclude from a state."""
    state = PlanState(plan, histories, saved, is_gated=True)
    return [
        dict(state.unreadable),
        dict(state.feedback),
        state.latest_runs,
        state.open_runs,
        pending_items(state),
        stuck_tasks(state),
        blocked_parents(state),
        state.plan.tasks,
        *(list(take(state)) for take in BY_STATE.values()),
        *(next_action(state, scope) for scope in (CallScope(), CallScope(review=TaskId("b")))),
        next_action(state, CallScope(only=frozenset({TaskId("a"), TaskId("d")}))),
    ]


@given(
    st.lists(st.sampled_from([Status.DONE, Status.DONE, *Status]), min_size=5, max_size=5),
    st.lists(RECORDS, min_size=6, max_size=6),
    st.lists(FILE, min_size=5, max_size=5),
)
@settings(max_examples=examples(300), deadline=None)
def test_what_follows_is_the_same_as_from_all_histories(
    statuses: list[Status], records: list[Any], files: list[str]
) -> None:
    plan = tree(dict(zip(NAMES, statuses, strict=True)), PARENTS)
    histories = {
        TaskId(name): history_of(name, drawn, 1 + 3 * place)
        for place, (name, drawn) in enumerate(zip((*NAMES, "gone"), records, strict=True))
        if any(drawn)
    }
    saved = feedback_files(dict(zip(NAMES, files, strict=True)))
    assert conclusions(plan, histories, saved) == conclusions(plan, from_scratch(histories), saved)


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
