"""Every fault between and inside tasks, named at its place with its mend."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TASK_ID_RULE, TaskId
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.validation import item_place, plan_faults
from tests.model.building import plan_of, task
from tests.support import examples


def faults(*tasks: Task) -> list[str]:
    plan = plan_of(*tasks)
    return [str(fault) for fault in plan_faults(plan, plan.tasks.keys())]


KNOWN = "name a task of this plan or remove it"
RENAME = "rename one: some file systems treat them as one"
CUT = "set one of these parentIds to null"
AGREE = "make parentId and childIds agree"


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        ([], []),
        ([task("a"), task("b", deps=["a"])], []),
        ([task("a", deps=["y"])], [f'$.items["a"].deps[0]: unknown dep id "y" ({KNOWN})']),
        ([task("a", deps=[""])], [f'$.items["a"].deps[0]: unknown dep id "" ({KNOWN})']),
        ([task("a", deps=["a"])], ['$.items["a"].deps[0]: cannot add self-dependency: "a" (remove it)']),
        (
            [task("a"), task("b", deps=["a", "a"])],
            ['$.items["b"].deps[1]: dep id "a" appears twice (keep one)'],
        ),
        (
            [task("a", parent="y")],
            ['$.items["a"].parentId: unknown parent id "y" (name a task of this plan or null)'],
        ),
        (
            [task("a", parent="p"), task("p")],
            [f'$.items["a"].parentId: parent "p" does not list "a" in childIds ({AGREE})'],
        ),
        ([task("p", children=["y"])], [f'$.items["p"].childIds[0]: unknown child id "y" ({KNOWN})']),
        (
            [task("p", children=["a"]), task("a")],
            [f'$.items["p"].childIds[0]: child "a" has another parentId ({AGREE})'],
        ),
        (
            [task("p", children=["a", "a"]), task("a", parent="p")],
            ['$.items["p"].childIds[1]: child id "a" appears twice (keep one)'],
        ),
        (
            [task("a", deps=["b"]), task("b", deps=["c"]), task("c", deps=["a"])],
            ['$.items["a"].deps: dependency cycle detected: a -> b -> c -> a (remove one of these deps)'],
        ),
        (
            [task("a", parent="b", children=["b"]), task("b", parent="a", children=["a"])],
            [f'$.items["a"].parentId: hierarchy cycle detected: a -> b -> a ({CUT})'],
        ),
        ([replace(task("a"), title="")], ['$.items["a"].title: is empty (give the task a title)']),
        (
            [replace(task("a"), created_at="now")],
            ['$.items["a"].createdAt: is not an RFC 3339 time (write it like 2026-01-02T03:04:05Z)'],
        ),
        (
            [replace(task("a"), created_at="x", updated_at="x")],
            [
                '$.items["a"].createdAt: is not an RFC 3339 time (write it like 2026-01-02T03:04:05Z)',
                '$.items["a"].updatedAt: is not an RFC 3339 time (write it like 2026-01-02T03:04:05Z)',
            ],
        ),
        (
            [replace(task("a"), updated_at="2025-12-31T23:59:59.999999999Z")],
            ['$.items["a"].updatedAt: is before createdAt (make it the same or later)'],
        ),
        ([replace(task("a"), updated_at="2026-01-01T02:00:00+02:00")], []),
        (
            [replace(task("a"), dep_rationale={TaskId("y"): "why"})],
            ['$.items["a"].depRationale["y"]: "y" is not in deps (add it to deps or remove the rationale)'],
        ),
        ([task("a"), replace(task("b", deps=["a"]), dep_rationale={TaskId("a"): "why"})], []),
        (
            [task("Ab"), task("aB")],
            [f'$.items["aB"]: differs from "Ab" only in letter case or composition ({RENAME})'],
        ),
        ([task("../../x")], [f"$.items[\"../../x\"]: the task id starts with '.' ({TASK_ID_RULE})"]),
    ],
)
def test_each_fault(tasks: Sequence[Task], expected: list[str]) -> None:
    assert faults(*tasks) == expected


def test_ids_in_faults_stay_on_one_line() -> None:
    assert item_place('a"\n\\') == '$.items["a\\"\\n\\\\"]'
    assert item_place("äöü") == '$.items["äöü"]'
    assert all("\n" not in fault for fault in faults(task("a\nb", deps=["c\nd"], parent="e\nf")))


def test_pointing_at_an_item_whose_own_shape_is_wrong_is_no_further_fault() -> None:
    plan = plan_of(task("a", deps=["bad"], parent="bad", children=["bad"]))
    assert plan_faults(plan, {"a", "bad"}) == []


MESS = [
    task("c", deps=["c", "gone"], parent="gone"),
    task("B", children=["gone", "a"]),
    replace(task("b", deps=["x", "x"]), title="", updated_at="never"),
    task("a", deps=["a2"]),
    task("a2", deps=["a"]),
    task("../x"),
]


def test_all_faults_come_in_one_go() -> None:
    found = faults(*MESS)
    assert [text.split(" (")[0] for text in found] == [
        '$.items["B"].childIds[0]: unknown child id "gone"',
        '$.items["B"].childIds[1]: child "a" has another parentId',
        '$.items["b"].title: is empty',
        '$.items["b"].updatedAt: is not an RFC 3339 time',
        '$.items["b"].deps[0]: unknown dep id "x"',
        '$.items["b"].deps[1]: unknown dep id "x"',
        '$.items["c"].deps[0]: cannot add self-dependency: "c"',
        '$.items["c"].deps[1]: unknown dep id "gone"',
        '$.items["c"].parentId: unknown parent id "gone"',
        "$.items[\"../x\"]: the task id starts with '.'",
        '$.items["b"]: differs from "B" only in letter case or composition',
        '$.items["a"].deps: dependency cycle detected: a -> a2 -> a',
    ]


@given(st.permutations(MESS))
@settings(max_examples=50, deadline=None)
def test_the_order_of_faults_is_the_same_whatever_the_files_order(shuffled: list[Task]) -> None:
    assert faults(*shuffled) == faults(*MESS)


NAMES = st.sampled_from(["a", "b", "c", "d", "A", ""])
TASKS = st.builds(
    task,
    NAMES,
    deps=st.lists(NAMES, max_size=3),
    parent=st.none() | NAMES,
    children=st.lists(NAMES, max_size=3),
)


@given(st.lists(TASKS, max_size=5))
@settings(max_examples=examples(300), deadline=None)
def test_any_plan_is_judged_and_a_faultless_one_hangs_together(tasks: list[Task]) -> None:
    plan = plan_of(*tasks)
    found = plan_faults(plan, plan.tasks.keys())
    assert all(fault.place and fault.what and fault.fix for fault in found)
    if not found:
        for one in plan.tasks.values():
            assert all(plan.tasks[child].parent == one.id for child in one.children)
            assert one.parent is None or one.id in plan.tasks[one.parent].children
            assert all(dep in plan.tasks for dep in one.deps)


def test_ten_thousand_children_and_deps_are_judged_without_comparing_each_with_each() -> None:
    names = [f"t{number:05d}" for number in range(10_000)]
    wide = [task("p", children=names), task("last", deps=names), *(task(name, parent="p") for name in names)]
    assert faults(*wide) == []
    assert plan_faults(Plan(), set()) == []
