"""Readiness, cycles and walks over plans of any shape."""

import graphlib
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import (
    Readiness,
    ancestors,
    dependents,
    find_cycle,
    is_ready,
    readiness,
    subtree_leaves,
    unmet_deps,
)
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.state import PlanState, blocked_tasks, ready_tasks
from tests.model.building import ids, plan_of, task, tree
from tests.support import examples

MANY = 20_000


@pytest.mark.parametrize("status", list(Status))
def test_only_a_leaf_to_do_whose_dependencies_are_done_is_ready(status: Status) -> None:
    plan = plan_of(task("a", status), task("b", deps=["a"]))
    assert is_ready(plan, plan.tasks[TaskId("a")]) == (status == Status.TODO)
    assert is_ready(plan, plan.tasks[TaskId("b")]) == (status == Status.DONE)


def test_ready_tasks_come_smallest_id_first_and_parents_never() -> None:
    statuses = dict.fromkeys(["t10", "t2", "p", "a"], Status.TODO)
    plan = tree(statuses, {"a": "p"})
    assert ids(ready_tasks(PlanState(plan, {}))) == ["a", "t10", "t2"]
    assert ids(plan.leaves()) == ["a", "t10", "t2"]


def test_readiness_gives_every_reason() -> None:
    plan = plan_of(
        task("a", Status.SKIPPED),
        task("b", Status.FAILED),
        task("c", Status.DONE),
        task("t", Status.BLOCKED, deps=["a", "b", "c"]),
    )
    assert unmet_deps(plan, plan.tasks[TaskId("t")]) == ("a", "b")
    assert readiness(plan, plan.tasks[TaskId("t")]) == Readiness(
        (
            "its status is blocked, not todo",
            "its dependency a is skipped, not done",
            "its dependency b is failed, not done",
        ),
        (
            "git blackbird set-status a done    # it is done, or t does not need it",
            "git blackbird set-status a todo    # it still has to be done",
        ),
    )


def test_readiness_of_a_ready_task_and_of_a_parent() -> None:
    plan = tree({"p": Status.TODO, "a": Status.TODO, "b": Status.TODO}, {"a": "p", "b": "p"})
    assert readiness(plan, plan.tasks[TaskId("a")]).is_ready
    assert readiness(plan, plan.tasks[TaskId("p")]).reasons == (
        "it has children (a, b); only leaves are executed",
    )


def test_blockers_name_what_todo_leaves_wait_for() -> None:
    plan = plan_of(
        task("a", Status.SKIPPED), task("b", deps=["a"]), task("c", Status.DONE, deps=["a"]), task("d")
    )
    assert blocked_tasks(PlanState(plan, {})) == {"b": ("a",)}


def test_dependents_and_ancestors_and_leaves_below() -> None:
    statuses = dict.fromkeys(["top", "mid", "b", "a"], Status.TODO)
    plan = tree(statuses, {"mid": "top", "b": "mid", "a": "mid"})
    assert ids(ancestors(plan, plan.tasks[TaskId("a")])) == ["mid", "top"]
    assert ids(subtree_leaves(plan, plan.tasks[TaskId("top")])) == ["a", "b"]
    assert ids(subtree_leaves(plan, plan.tasks[TaskId("a")])) == ["a"]
    linked = plan_of(task("c", deps=["a", "b"]), task("a"), task("b", deps=["a"]))
    assert ids(dependents(linked, TaskId("a"))) == ["b", "c"]


def test_ancestors_of_a_hierarchy_cycle_end() -> None:
    plan = plan_of(task("a", parent="b"), task("b", parent="a"))
    assert ids(ancestors(plan, plan.tasks[TaskId("a")])) == ["b"]


def test_plan_order_keeps_the_order_of_children_and_sorts_tasks_at_the_top_by_creation() -> None:
    late, early = "2026-01-01T00:00:00.5Z", "2026-01-01T01:00:00+01:00"
    plan = plan_of(
        replace(task("m"), created_at=late),
        replace(task("z"), created_at=early),
        task("p", children=["b", "a"]),
        task("b", parent="p", children=["c"]),
        task("c", parent="b"),
        task("a", parent="p"),
    )
    assert [(depth, one.id) for depth, one in plan.walk()] == [
        (0, "p"),
        (1, "b"),
        (2, "c"),
        (1, "a"),
        (0, "z"),
        (0, "m"),
    ]
    assert ids(plan.leaves()) == ["c", "a", "z", "m"]


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ({"a": []}, None),
        ({"a": ["b"], "b": []}, None),
        ({"a": ["a"]}, ("a", "a")),
        ({"a": ["b"], "b": ["a"]}, ("a", "b", "a")),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, ("a", "b", "c", "a")),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, ("b", "c", "b")),
        ({"a": ["nowhere", "b"], "b": ["nowhere"]}, None),
        ({"z": ["y"], "y": ["z"], "a": []}, ("y", "z", "y")),
    ],
)
def test_cycles(edges: dict[str, list[str]], cycle: tuple[str, ...] | None) -> None:
    assert find_cycle({TaskId(name): list(map(TaskId, to)) for name, to in edges.items()}) == cycle


NODES = st.integers(0, 9).map(lambda number: TaskId(f"t{number}"))


@given(st.dictionaries(NODES, st.lists(NODES, max_size=4), max_size=10))
@settings(max_examples=examples(300), deadline=None)
def test_a_cycle_is_found_exactly_where_one_is(edges: dict[TaskId, list[TaskId]]) -> None:
    within = {name: [to for to in targets if to in edges] for name, targets in edges.items()}
    try:
        list(graphlib.TopologicalSorter(within).static_order())
        is_cyclic = False
    except graphlib.CycleError:
        is_cyclic = True
    cycle = find_cycle(edges)
    assert (cycle is not None) == is_cyclic
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(to in edges[here] for here, to in pairwise(cycle))
    assert find_cycle(dict(sorted(edges.items(), reverse=True))) == cycle


def _chain(*, backwards: bool) -> dict[TaskId, list[TaskId]]:
    names = [TaskId(f"t{number:05d}") for number in range(MANY)]
    ends = names[1:] if not backwards else names[:-1]
    starts = names[:-1] if not backwards else names[1:]
    return {name: [] for name in names} | {here: [to] for here, to in zip(starts, ends, strict=True)}


@pytest.mark.parametrize("backwards", [False, True])
def test_a_very_long_chain_has_no_cycle_and_closed_it_is_one(backwards: bool) -> None:
    edges = _chain(backwards=backwards)
    assert find_cycle(edges) is None
    first, last = TaskId("t00000"), TaskId(f"t{MANY - 1:05d}")
    closed = edges | ({last: [first]} if not backwards else {first: [last]})
    cycle = find_cycle(closed)
    assert cycle is not None
    assert len(cycle) == MANY + 1


def _deep_plan() -> Plan:
    edges = _chain(backwards=False)
    above = {to[0]: name for name, to in edges.items() if to}
    return plan_of(*(task(name, parent=above.get(name), children=to) for name, to in edges.items()))


def test_a_very_deep_tree_is_walked_without_recursion() -> None:
    plan = _deep_plan()
    walked = list(plan.walk())
    assert [depth for depth, _ in walked] == list(range(MANY))
    deepest = walked[-1][1]
    assert len(list(ancestors(plan, deepest))) == MANY - 1
    assert ids(subtree_leaves(plan, plan.tasks[TaskId("t00000")])) == [deepest.id]


PARENTS = st.lists(st.none() | st.integers(0, 30), min_size=1, max_size=20)


@given(PARENTS)
@settings(max_examples=examples(100), deadline=None)
def test_a_walk_meets_every_task_once_children_after_parents(parents: list[int | None]) -> None:
    names = [f"t{number:02d}" for number in range(len(parents))]
    above = {
        names[number]: names[parent % number]
        for number, parent in enumerate(parents)
        if parent is not None and number
    }
    plan = tree(dict.fromkeys(names, Status.TODO), above)
    walked = list(plan.walk())
    assert sorted(one.id for _, one in walked) == names
    places = {one.id: place for place, (_, one) in enumerate(walked)}
    assert all(places[TaskId(parent)] < places[TaskId(child)] for child, parent in above.items())
    assert all(depth == len(list(ancestors(plan, one))) for depth, one in walked)
