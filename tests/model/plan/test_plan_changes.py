"""What differs between two plans, in words."""

from dataclasses import replace

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import describe_changes
from git_blackbird.model.plan.plan import Plan, with_status
from git_blackbird.model.plan.status import Status
from tests.model.building import LATER, plan_of, task


def test_every_kind_of_change_in_the_order_of_ids() -> None:
    before = plan_of(task("gone"), task("same"), task("moved"), task("edited"), task("touched"))
    edited = replace(
        before.tasks[TaskId("edited")],
        title="New",
        deps=(TaskId("same"),),
        status=Status.DONE,
        updated_at=LATER,
    )
    after = plan_of(
        task("new"),
        before.tasks[TaskId("same")],
        with_status(before.tasks[TaskId("moved")], Status.SKIPPED, LATER),
        edited,
        replace(before.tasks[TaskId("touched")], updated_at=LATER),
    )
    assert describe_changes(before, after) == (
        "edited was edited: title, deps, status",
        "gone was removed",
        "moved was set from todo to skipped",
        "new was added",
    )


def test_nothing_changed() -> None:
    assert describe_changes(plan_of(task("a")), plan_of(task("a"))) == ()
    assert describe_changes(Plan(), Plan()) == ()
