"""Merging two plans that began as one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_merge import merge_plans
from tests.cli.plans import task

LATER = "2026-02-01T00:00:00Z"
A, B, C, P = map(TaskId, "abcp")


def plan_of(*tasks: Task) -> Plan:
    return Plan({one.id: one for one in tasks})


BASE = plan_of(
    task("p", children=("a", "b")), task("a", parent="p"), task("b", parent="p", deps=("a",)), task("c")
)


def edited(plan: Plan, task_id: TaskId, **fields: Any) -> Plan:
    return plan.replaced(replace(plan.tasks[task_id], updated_at=LATER, **fields))


def merged(ours: Plan, theirs: Plan, base: Plan = BASE) -> Plan:
    merge = merge_plans(base, ours, theirs)
    assert merge.conflicts == ()
    assert merge.base == merge.ours == merge.theirs
    assert plan_faults(merge.ours, merge.ours.tasks.keys()) == []
    return merge.ours


def without(plan: Plan, task_id: TaskId) -> Plan:
    return Plan(
        {
            one.id: replace(
                one,
                children=tuple(child for child in one.children if child != task_id),
                deps=tuple(dep for dep in one.deps if dep != task_id),
            )
            for one in plan.tasks.values()
            if one.id != task_id
        }
    )


def test_edits_of_both_sides_are_kept_by_task_and_by_field() -> None:
    ours = edited(edited(BASE, A, title="Ours"), C, deps=(A,), acceptance_criteria=("ours",))
    theirs = edited(edited(BASE, A, prompt="theirs"), C, deps=(B,), acceptance_criteria=("theirs",))
    both = merged(ours, theirs).tasks
    assert (both[A].title, both[A].prompt) == ("Ours", "theirs")
    assert (both[C].deps, both[C].acceptance_criteria) == ((B, A), ("theirs", "ours"))


def test_done_counts_before_todo_and_what_one_side_reopened_is_open() -> None:
    waits = edited(BASE, A, status=Status.WAITING_USER)
    done = edited(BASE, A, status=Status.DONE)
    assert merged(waits, done).tasks[A].status is Status.DONE
    assert merged(edited(done, A, status=Status.TODO), done, done).tasks[A].status is Status.TODO


def test_new_tasks_of_both_sides_are_below_one_parent_and_deleted_ones_are_gone() -> None:
    ours = BASE.replaced(task("p", children=("a", "n", "b")), task("n", parent="p"))
    theirs = without(BASE, C).replaced(task("p", children=("a", "b", "m")), task("m", parent="p"))
    both = merged(ours, theirs)
    assert both.tasks[P].children == ("a", "n", "b", "m")
    assert C not in both.tasks


@pytest.mark.parametrize(
    ("ours", "theirs", "conflict"),
    [
        (edited(BASE, A, title="x"), edited(BASE, A, title="y"), "a: title"),
        (
            without(BASE, C),
            edited(BASE, C, prompt="y"),
            "c: deleted on one side, and changed or needed on the other",
        ),
        (
            without(BASE, C),
            edited(BASE, B, deps=(A, C)),
            "c: deleted on one side, and changed or needed on the other",
        ),
        (
            edited(BASE, B, deps=(A,), dep_rationale={A: "x"}),
            edited(BASE, B, deps=(A,), dep_rationale={A: "y"}),
            "b: reasons of deps",
        ),
    ],
)
def test_what_both_changed_is_left_as_each_side_has_it(ours: Plan, theirs: Plan, conflict: str) -> None:
    merge = merge_plans(BASE, ours, theirs)
    assert merge.conflicts == (conflict,)
    assert merge.ours != merge.theirs
    back = merge_plans(BASE, theirs, ours)
    assert (back.conflicts, back.theirs.tasks, back.ours.tasks) == (
        merge.conflicts,
        merge.ours.tasks,
        merge.theirs.tasks,
    )


NAMES = st.sampled_from(["title", "prompt", "description", "notes"])
EDITS = st.dictionaries(st.tuples(st.sampled_from([P, A, B, C]), NAMES), st.sampled_from("xyz"), max_size=6)
STATUSES = st.dictionaries(st.sampled_from([A, B, C]), st.sampled_from(list(Status)), max_size=3)


def changed(edits: Mapping[tuple[TaskId, str], str], statuses: Mapping[TaskId, Status]) -> Plan:
    plan = BASE
    for (task_id, name), text in edits.items():
        plan = edited(plan, task_id, **{name: text})
    for task_id, status in statuses.items():
        plan = edited(plan, task_id, status=status)
    return plan


@given(st.lists(st.tuples(EDITS, STATUSES), min_size=3, max_size=3))
def test_where_nothing_conflicts_the_order_of_merges_does_not_matter(
    sides: list[tuple[dict[tuple[TaskId, str], str], dict[TaskId, Status]]],
) -> None:
    one, two, three = (changed(*side) for side in sides)
    left = merge_plans(BASE, one, two)
    right = merge_plans(BASE, two, three)
    if left.conflicts or right.conflicts or merge_plans(BASE, one, three).conflicts:
        return
    first, last = (merge_plans(BASE, left.ours, three), merge_plans(BASE, one, right.ours))
    assert first == last
    for plan, (edits, _) in zip((one, two, three), sides, strict=True):
        for task_id, name in edits:
            assert getattr(first.ours.tasks[task_id], name) == getattr(plan.tasks[task_id], name)
