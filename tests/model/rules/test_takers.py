"""Which tasks a command takes, in every state."""

import pytest

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.takers import TAKERS
from git_blackbird.model.run.history import History, SavedFeedback
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.states import DecisionState, RunStatus
from tests.model.building import histories, run, task


def planned() -> tuple[Plan, dict[TaskId, History]]:
    tasks = [
        task("asks", Status.WAITING_USER),
        task("blocked", Status.BLOCKED),
        task("done", Status.DONE),
        task("failed", Status.FAILED),
        task("live", Status.IN_PROGRESS),
        task("lost", Status.IN_PROGRESS),
        task("paused", Status.WAITING_USER),
        task("pending", Status.WAITING_USER),
        task("ready"),
        task("skipped", Status.SKIPPED),
        task("waits", deps=("failed",)),
        task("waits-failed", Status.FAILED, deps=("failed",)),
    ]
    runs = [
        run(1, task_id="asks", status=RunStatus.WAITING_USER),
        run(2, task_id="done"),
        run(3, task_id="failed", status=RunStatus.FAILED),
        run(4, task_id="live", status=RunStatus.RUNNING),
        run(5, task_id="paused", status=RunStatus.PAUSED),
        run(6, task_id="pending", decision_state=DecisionState.PENDING),
    ]
    return Plan({one.id: one for one in tasks}), dict(histories(*runs))


TAKEN = {
    "decide": ["pending"],
    "execute": ["ready"],
    "restart": ["asks", "blocked", "failed", "lost", "paused", "pending", "ready"],
    "resume": ["asks", "paused", "pending"],
    "resume -m": ["asks", "done", "failed", "live", "paused", "pending"],
    "retry": ["asks", "blocked", "failed", "lost", "paused", "pending", "waits-failed"],
    "tell": ["live"],
}


def taken_by(command: str, state: PlanState) -> list[str]:
    return sorted(one.id for one in TAKERS[command](state))


@pytest.mark.parametrize("command", TAKEN)
def test_a_command_takes_what_its_state_allows(command: str) -> None:
    assert taken_by(command, PlanState(*planned())) == TAKEN[command]


def test_every_command_with_a_rule_is_here() -> None:
    assert sorted(TAKERS) == sorted([*TAKEN, *TAKEN_OF_PARENTS])


TAKEN_OF_PARENTS = {
    "resume --all": ["bad", "top"],
    "review show": ["bad", "fresh", "top"],
    "review run": ["bad", "fresh"],
    "review dismiss": ["bad", "fresh"],
}


@pytest.mark.parametrize("command", TAKEN_OF_PARENTS)
def test_what_reviews_take_are_parents(command: str) -> None:
    tasks = [
        task("bad", Status.WAITING_USER, parent="top", children=("bad-1",)),
        task("bad-1", Status.DONE, parent="bad"),
        task("fresh", Status.WAITING_USER, children=("fresh-1",)),
        task("fresh-1", Status.DONE, parent="fresh"),
        task("top", Status.IN_PROGRESS, children=("bad",)),
    ]
    told = Feedback(
        parent_task_id=TaskId("bad"),
        review_run_id=RunId("r"),
        feedback="No.",
        created_at="2026-01-01T00:00:00Z",
        updated_at="2026-01-01T00:00:00Z",
    )
    state = PlanState(
        Plan({one.id: one for one in tasks}), {}, SavedFeedback({TaskId("bad-1"): told}), is_gated=True
    )
    assert taken_by(command, state) == TAKEN_OF_PARENTS[command]


@pytest.mark.parametrize(
    ("command", "taken"),
    [
        ("review show", ["asks", "done", "failed", "live", "paused", "pending"]),
        ("review run", ["done", "pending"]),
        ("review dismiss", []),
    ],
)
def test_the_change_of_a_leaf_is_reviewed_as_well(command: str, taken: list[str]) -> None:
    assert taken_by(command, PlanState(*planned())) == taken
