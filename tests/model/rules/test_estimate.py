"""Estimates: what is left goes by what was done, whatever the plan is."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.estimate import Estimate, Sample, Spread, estimate
from tests.cli.plans import task

FEW = 4
ONE_HOUR = Sample("claude", 1, 3600.0, 2.0)


def of(*tasks: Task, samples: Sequence[Sample] = (ONE_HOUR,) * (FEW + 1), jobs: int = 1) -> Estimate:
    plan = Plan({one.id: one for one in tasks})
    left = [leaf for leaf in plan.leaves() if not leaf.is_over]
    return estimate(plan, left, samples, "claude", jobs)


def same(value: float) -> Spread:
    return Spread(value, value)


def test_tasks_are_like_those_that_were_done() -> None:
    found = of(task("a"), task("b", deps=("a",)), task("c"), task("d", status=Status.DONE))
    assert (found.task_seconds, found.task_cost_usd) == (same(3600.0), same(2.0))
    assert (found.seconds, found.cost_usd, found.tasks) == (same(10_800.0), same(6.0), ("a", "b", "c"))
    assert (found.chain, found.chain_seconds) == (("a", "b"), same(7200.0))


@pytest.mark.parametrize(("jobs", "hours"), [(1, 4), (2, 3), (3, 2), (4, 2)])
def test_several_jobs_take_the_time_of_the_longest_chain_at_least(jobs: int, hours: int) -> None:
    found = of(
        task("p", children=("a", "b", "c")),
        *(task(one, parent="p") for one in "abc"),
        task("z", deps=("p",)),
        jobs=jobs,
    )
    assert found.seconds == same(3600.0 * (hours + (jobs == 2)) - (3600.0 if jobs == 2 else 0.0))


def test_nothing_is_known_before_a_task_is_done_and_costs_only_where_all_are_told() -> None:
    nothing = of(task("a"), samples=())
    assert (nothing.seconds, nothing.cost_usd, nothing.tasks) == (None, None, ("a",))
    untold = of(task("a"), samples=(*[ONE_HOUR] * FEW, ONE_HOUR._replace(cost_usd=None)))
    assert (untold.task_seconds, untold.cost_usd) == (same(3600.0), None)


def test_few_tasks_say_nothing_of_a_range() -> None:
    found = of(task("a"), samples=(ONE_HOUR,) * FEW)
    assert (found.seconds, found.cost_usd) == (Spread(3600.0, None), Spread(2.0, None))
    codex = [ONE_HOUR] * (FEW + 1)
    mixed = of(task("a"), replace(task("b"), agent="codex"), samples=[*codex, Sample("codex", 9, 60.0, None)])
    assert mixed.seconds == Spread(3660.0, None)


def test_a_task_goes_by_its_own_agent_where_that_has_done_one() -> None:
    slow = Sample("codex", 2, 7200.0, None)
    assert of(task("a"), samples=(slow, ONE_HOUR)).seconds == Spread(3600.0, None)
    assert of(task("a"), samples=(slow,)).seconds == Spread(7200.0, None)


def test_tasks_that_wait_for_one_another_for_ever_are_estimated_as_if_they_did_not() -> None:
    found = of(task("p", children=("a",)), task("a", parent="p", deps=("b",)), task("b", deps=("p",)))
    assert found.seconds == same(7200.0)


@given(
    st.lists(st.frozensets(st.integers(0, 6)), min_size=1, max_size=8),
    st.lists(st.floats(0, 1e6), min_size=5, max_size=9),
    st.integers(1, 4),
)
def test_the_time_lies_between_the_longest_chain_and_one_after_the_other(
    waits: list[frozenset[int]], seconds: list[float], jobs: int
) -> None:
    tasks = [
        task(str(number), deps=tuple(str(one) for one in sorted(others) if one < number))
        for number, others in enumerate(waits)
    ]
    samples = [Sample("claude", 1, one, None) for one in seconds]
    several, alone = (of(*tasks, samples=samples, jobs=count) for count in (jobs, 1))
    assert several.seconds is not None
    assert several.chain_seconds is not None
    assert alone.seconds is not None
    slack = 1e-6 * (1 + max(seconds)) * len(tasks)
    spreads = zip(several.chain_seconds, several.seconds, alone.seconds, strict=True)
    for chain, side_by_side, one_by_one in spreads:
        assert chain is not None
        assert side_by_side is not None
        assert one_by_one is not None
        assert chain <= side_by_side + slack
        assert side_by_side <= one_by_one + slack
    assert several.tasks == tuple(TaskId(str(number)) for number in range(len(waits)))
