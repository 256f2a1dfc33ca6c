"""Which statuses a commit takes along: of its task, and of parents of which the plan in git agrees."""

from dataclasses import replace

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.carried import restated_tasks, with_status_of, with_statuses
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
