"""What counts of a plan that was edited while an agent worked, beside what git did with it."""

from dataclasses import replace

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.plan_at_work import PlanMove, counting_plan, take_edits

STAMP = "2026-01-02T03:04:05Z"
A, B, C = (new_task(TaskId(name), name, STAMP) for name in "abc")


def plan(*tasks: Task) -> Plan:
    return Plan({task.id: task for task in tasks})


DONE, TITLED = replace(A, status=Status.DONE), replace(B, title="Of git")
KNOWN = plan(A, B)
MOVE = PlanMove(KNOWN, plan(A, TITLED, C))


@pytest.mark.parametrize(
    ("edited", "moves", "head", "counts"),
    [
        (plan(DONE, B), (), None, KNOWN),
        (plan(A), (), KNOWN, KNOWN),
        (plan(DONE, B, C), (), KNOWN, KNOWN),
        (plan(B), (), plan(B), plan(B)),
        (plan(A, TITLED, C), (MOVE,), None, plan(A, TITLED, C)),
        (plan(DONE, TITLED, C), (MOVE,), MOVE.after, plan(A, TITLED, C)),
        (plan(A, replace(TITLED, status=Status.DONE), C), (MOVE,), None, plan(A, TITLED, C)),
        (
            plan(DONE, TITLED, C),
            (MOVE, PlanMove(MOVE.after, plan(DONE, TITLED, C), by_agent=True)),
            None,
            MOVE.after,
        ),
        (plan(DONE, B), (PlanMove(KNOWN, plan(DONE, B), by_agent=True),), plan(DONE, B), KNOWN),
        # The agent's own commit was rebased on what git brought.
        (
            plan(DONE, TITLED, C),
            (PlanMove(KNOWN, plan(DONE, B), by_agent=True), PlanMove(plan(DONE, B), plan(DONE, TITLED, C))),
            plan(DONE, TITLED, C),
            plan(A, TITLED, C),
        ),
    ],
)
def test_what_counts(edited: Plan, moves: tuple[PlanMove, ...], head: Plan | None, counts: Plan) -> None:
    found = counting_plan(KNOWN, edited, moves, head)
    assert found.tasks == counts.tasks
    assert (found is edited) == (edited.tasks == counts.tasks)


def test_a_plan_that_would_not_be_valid_is_the_known_one() -> None:
    brought = PlanMove(plan(A, B), plan(A, replace(B, deps=(A.id,))))
    edited = plan(replace(A, deps=(B.id,), title="other"), replace(B, deps=(A.id,)))
    assert counting_plan(plan(replace(A, deps=(B.id,)), B), edited, (brought,), None).tasks.keys() == {
        A.id,
        B.id,
    }
    assert take_edits(plan(replace(A, deps=(B.id,)), B), brought.before, brought.after).plan is None


def test_edits_are_taken_by_task_and_field() -> None:
    taken = take_edits(plan(replace(A, title="Mine"), B, C), KNOWN, plan(replace(A, prompt="theirs"), B))
    assert taken == (plan(replace(A, title="Mine", prompt="theirs"), B, C), ())
    both = take_edits(plan(replace(A, title="Mine"), B), KNOWN, plan(replace(A, title="Theirs"), B))
    assert both == (plan(replace(A, title="Mine"), B), ("a: title",))
