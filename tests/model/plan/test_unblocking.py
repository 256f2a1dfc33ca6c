"""How many tasks wait for each task and for nothing else."""

import pytest

from git_blackbird.model.plan.graph import count_unblocked
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from tests.model.building import task

WAITS = Status.WAITING_USER


def counts(*tasks: Task, owing: tuple[str, ...] = ()) -> dict[str, int]:
    plan = Plan({one.id: one for one in tasks})
    found = count_unblocked(plan, [plan.tasks[one].id for one in plan.tasks if one in owing])
    return {key: number for key, number in sorted(found.items()) if plan.tasks[key].status != Status.TODO}


def test_what_waits_through_others_counts_and_what_waits_for_others_too_does_not() -> None:
    tasks = [
        task("a", WAITS),
        task("b", Status.FAILED),
        task("ready"),
        task("next", deps=("a",)),
        task("after", deps=("next",)),
        task("both", deps=("a", "b")),
        task("after-both", deps=("both", "next")),
        task("busy", deps=("a", "ready")),
        task("twice", deps=("a", "after")),
        task("done", Status.DONE),
        task("over", deps=("done", "b")),
    ]
    assert counts(*tasks) == {"a": 3, "b": 1}


def family(child: Status) -> list[Task]:
    return [
        task("p", Status.IN_PROGRESS, children=("one", "two")),
        task("one", child, parent="p"),
        task("two", Status.DONE, parent="p"),
        task("later", deps=("p",)),
    ]


def test_a_parent_waits_for_its_children_then_for_its_review() -> None:
    assert counts(*family(WAITS)) == {"one": 1, "p": 1}
    assert counts(*family(Status.DONE)) == {"p": 1}


@pytest.mark.parametrize(("owing", "expected"), [(("one",), {"one": 1, "p": 1}), (("one", "two"), {"p": 1})])
def test_feedback_of_one_child_is_answered_there_and_of_several_at_the_parent(
    owing: tuple[str, ...], expected: dict[str, int]
) -> None:
    assert counts(*family(Status.DONE), owing=owing) == expected


def test_a_deadlock_and_a_long_chain_are_no_fault() -> None:
    assert counts(task("x", deps=("y",)), task("y", deps=("x",)), task("a", WAITS)) == {}
    chain = [task(f"t{at}", deps=(f"t{at - 1}",)) for at in range(1, 3000)]
    assert counts(task("t0", WAITS), *chain) == {"t0": 2999}
