"""Values of the plan keep it valid, whatever a clock says."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.plan.plan import Plan, revised, with_status
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import plan_faults
from tests.model.building import LATER, STAMP, plan_of, task

EARLIER = "2025-12-31T23:59:59.999999999Z"


def test_a_change_is_stamped_with_its_moment() -> None:
    changed = revised(replace(task("a"), title="Another"), LATER)
    assert (changed.title, changed.created_at, changed.updated_at) == ("Another", STAMP, LATER)
    assert with_status(task("a"), Status.TODO, LATER) == task("a")
    assert with_status(task("a"), Status.DONE, LATER).updated_at == LATER


def test_a_change_by_a_slow_clock_is_not_before_the_task() -> None:
    for changed in (revised(task("a"), EARLIER), with_status(task("a"), Status.DONE, EARLIER)):
        assert changed.updated_at == STAMP
        assert not plan_faults(plan_of(changed), {"a"})


def test_moments_in_different_zones_are_compared_as_moments() -> None:
    assert revised(task("a"), "2026-01-01T01:00:00+02:00").updated_at == STAMP
    assert revised(task("a"), "2025-12-31T23:00:00-02:00").updated_at == "2025-12-31T23:00:00-02:00"


STATUSES = st.sampled_from(Status)


@given(before=st.lists(STATUSES, min_size=1, max_size=8), after=st.lists(STATUSES, min_size=8, max_size=8))
def test_unfinished_leaves_stay_known_through_changes_of_statuses(
    before: list[Status], after: list[Status]
) -> None:
    plan = plan_of(*(task(name, status) for name, status in zip("hgfedcba", before, strict=False)))
    plan.unfinished  # noqa: B018  # known from now on
    for task_id, status in zip(plan.tasks, after, strict=False):
        tasks = {**plan.tasks, task_id: with_status(plan.tasks[task_id], status, LATER)}
        plan = plan.restated(tasks, [task_id])
        assert [*plan.unfinished] == [*Plan(tasks).unfinished]
