"""Which statuses commits take along, and what counts of a plan that was edited past our commands."""

from dataclasses import replace

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.written_plan import (
    PlanMove,
    counting_plan,
    restated_tasks,
    take_edits,
    with_status_of,
    with_statuses,
)
from tests.model.building import LATER, plan_of, statuses, task, tree

ABOVE = {"p": "g", "c": "g", "a": "p", "b": "p"}
NOTHING = dict.fromkeys("gpcab", Status.TODO)


def at(plan: Plan, **changed: Status) -> Plan:
    return plan.replaced(
        *(
            replace(plan.tasks[TaskId(name)], status=status, updated_at=LATER)
            for name, status in changed.items()
        )
    )


def carried(task_id: str, committed: Plan, after: Plan) -> dict[str, str]:
    """The statuses that are others than in git."""
    plan = with_status_of(TaskId(task_id), committed, after)
    return {one.id: one.status.value for one in restated_tasks(committed, plan)}


def test_parents_go_along_with_their_last_child() -> None:
    committed = tree(NOTHING | {"b": Status.DONE, "c": Status.SKIPPED}, ABOVE)
    after = at(committed, a=Status.DONE, p=Status.DONE, g=Status.DONE)
    assert carried("a", committed, after) == {"a": "done", "p": "done", "g": "done"}


def test_a_parent_stays_where_git_has_an_open_child() -> None:
    committed = tree(NOTHING, ABOVE)
    after = at(committed, a=Status.DONE, b=Status.DONE, p=Status.DONE)
    assert carried("a", committed, after) == {"a": "done"}


def test_a_parent_that_was_found_good_since_goes_along_with_any_commit() -> None:
    committed = tree(NOTHING | {"a": Status.DONE, "b": Status.DONE}, ABOVE)
    after = at(committed, p=Status.DONE, c=Status.WAITING_USER)
    assert carried("c", committed, after) == {"c": "waiting_user", "p": "done"}


def test_parents_of_what_is_taken_back_are_not_done_either() -> None:
    committed = tree(dict.fromkeys("gpcab", Status.DONE), ABOVE)
    after = at(committed, a=Status.FAILED, p=Status.IN_PROGRESS, g=Status.IN_PROGRESS)
    assert carried("a", committed, after) == {"a": "failed", "p": "in_progress", "g": "in_progress"}


def test_a_parent_that_failed_its_review_waits() -> None:
    committed = tree(dict.fromkeys("gpcab", Status.DONE) | {"c": Status.TODO}, ABOVE)
    after = at(committed, p=Status.WAITING_USER, c=Status.DONE)
    assert carried("c", committed, after) == {"c": "done"}


def test_nothing_of_a_task_that_either_plan_has_not() -> None:
    with_task, without = plan_of(task("a"), task("b")), plan_of(task("b"))
    assert with_status_of(TaskId("a"), without, at(with_task, a=Status.DONE)) is without
    assert with_status_of(TaskId("a"), with_task, without) is with_task


def test_only_status_and_time_are_laid_over_another_plan() -> None:
    before = plan_of(task("a"), task("b"))
    after = at(before, a=Status.DONE)
    titled = replace(before.tasks[TaskId("a")], title="edited")
    laid = with_statuses(plan_of(titled), restated_tasks(before, after))
    assert statuses(laid) == {"a": "done"}
    assert laid.tasks[TaskId("a")] == replace(titled, status=Status.DONE, updated_at=LATER)


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
