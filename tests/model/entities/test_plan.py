"""Values of the plan keep it valid, whatever a clock says."""

from dataclasses import replace

from git_blackbird.model.entities.plan import revised, with_status
from git_blackbird.model.entities.status import Status
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
