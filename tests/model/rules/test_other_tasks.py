"""Which changes count as landed since then, and are still there."""

from typing import Any

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.plan.plan import Plan, new_task
from git_blackbird.model.rules.other_tasks import other_tasks
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.history import History
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, LandingState, RunStatus
from tests.records import run_of

OLD, NEW = "a" * 40, "b" * 40


def ended(task_id: str, **fields: Any) -> Run:
    return run_of(
        id=RunId(f"01{task_id:0>14}"),
        task_id=TaskId(task_id),
        started_at="2026-01-01T00:00:00Z",
        status=RunStatus.SUCCESS,
        **fields,
    )


def landed(task_id: str, at: str, **fields: Any) -> Run:
    pair = {"base": OLD, "head": NEW}
    return ended(
        task_id, worktree="/w", landing=LandingState.LANDED, landed_at=at, landing_trees=pair, **fields
    )


def test_only_what_came_later_and_still_is_there_has_landed_since() -> None:
    runs = [
        landed("1", "2026-01-01T10:00:00Z"),
        landed("2", "2026-01-01T12:00:00Z"),
        landed("3", "2026-01-01T13:00:00Z", undone_at="2026-01-01T13:30:00Z"),
        ended("4", base_tree=OLD, head_tree=NEW, completed_at="2026-01-01T14:00:00Z"),
        ended("5", base_tree=OLD, head_tree=OLD, completed_at="2026-01-01T14:00:00Z"),
        landed("6", "2026-01-01T15:00:00Z"),
        landed("7", "2026-01-01T16:00:00Z", decision_state=DecisionState.PENDING),
    ]
    plan = Plan({run.task_id: new_task(run.task_id, run.task_id, run.started_at) for run in runs})
    state = PlanState(plan, {run.task_id: History((run,)) for run in runs})
    others = other_tasks(state, TaskId("6"), {TaskId("1"), TaskId("6")}, "2026-01-01T11:00:00Z")
    assert [other.task.id for other in others.landed] == ["4", "2"]
    assert [other.task.id for other in others.under_way] == ["1", "7"]
    assert other_tasks(state, TaskId("6"), (), None).landed == ()
