"""The status of a leaf is its latest run's, and parents follow their children."""

import pytest

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.stages import status_of
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import ReviewGate, Transition
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.rules.status import (
    apply_statuses,
    derive,
    derive_leaf,
)
from git_blackbird.model.run.history import History, RecordError
from git_blackbird.model.run.states import (
    APPROVALS,
    REVIEWER_TYPES,
    SUPERSEDED_BY_DELETE,
    SUPERSEDED_BY_RETRY,
    SUPERSEDED_BY_UNAVAILABLE,
    DecisionState,
    RunStatus,
    RunType,
)
from tests.model.building import LATER, STAMP, histories, history, plan_of, run, statuses, task, tree

TODO, DONE, IN_PROGRESS = Status.TODO, Status.DONE, Status.IN_PROGRESS
WAITING, FAILED, SKIPPED = Status.WAITING_USER, Status.FAILED, Status.SKIPPED
OFF = ReviewGate(is_on=False, histories={})

_SUCCESS = {
    None: DONE,
    DecisionState.PENDING: WAITING,
    DecisionState.APPROVED_CONTINUE: DONE,
    DecisionState.APPROVED_QUIT: DONE,
    DecisionState.CHANGES_REQUESTED: WAITING,
    DecisionState.REJECTED: FAILED,
}
_FAILED = {
    decision: DONE if decision in APPROVALS else FAILED  # accepted as it is
    for decision in (None, *DecisionState)
}
_WHATEVER_WAS_DECIDED = {
    RunStatus.RUNNING: IN_PROGRESS,
    RunStatus.PAUSED: WAITING,
    RunStatus.WAITING_USER: WAITING,
}
TABLE = [
    (run_status, decision, status)
    for run_status, by_decision in ((RunStatus.SUCCESS, _SUCCESS), (RunStatus.FAILED, _FAILED))
    for decision, status in by_decision.items()
] + [
    (run_status, decision, status)
    for run_status, status in _WHATEVER_WAS_DECIDED.items()
    for decision in (None, *DecisionState)
]


def test_the_table_has_every_row() -> None:
    assert {(row[0], row[1]) for row in TABLE} == {
        (run_status, decision) for run_status in RunStatus for decision in (None, *DecisionState)
    }


@pytest.mark.parametrize(("run_status", "decision", "expected"), TABLE)
def test_each_row(run_status: RunStatus, decision: DecisionState | None, expected: Status) -> None:
    latest = run(1, run_status, decision_state=decision)
    assert status_of(latest) == expected
    for stored in Status:
        assert derive_leaf(task("t", stored), history(latest)).status == expected


@pytest.mark.parametrize(("run_status", "decision", "expected"), TABLE)
def test_a_superseded_run_says_nothing(
    run_status: RunStatus, decision: DecisionState | None, expected: Status
) -> None:
    gone = run(2, run_status, decision_state=decision, superseded_at=LATER, superseded_by=SUPERSEDED_BY_RETRY)
    for stored in Status:
        assert derive_leaf(task("t", stored), history(gone)).status == stored
    counts = run(1, RunStatus.PAUSED)
    assert derive_leaf(task("t"), history(counts, gone)).status == WAITING


@pytest.mark.parametrize("kind", sorted(REVIEWER_TYPES))
def test_a_reviewers_run_says_nothing(kind: RunType) -> None:
    review = run(2, RunStatus.FAILED, run_type=kind)
    assert derive_leaf(task("t"), history(review)).status == TODO
    assert derive_leaf(task("t"), history(run(1), review)).status == DONE


def test_nothing_is_derived_beside_a_record_that_cannot_be_read() -> None:
    unsure = History((run(1, RunStatus.FAILED),), (RecordError("runs/t/x.json", "is empty"),))
    assert derive_leaf(task("t", DONE), unsure).status == DONE


def test_a_start_that_never_was_leaves_the_task_to_do() -> None:
    void = run(1, RunStatus.FAILED, superseded_at=LATER, superseded_by=SUPERSEDED_BY_UNAVAILABLE)
    assert derive_leaf(task("t", IN_PROGRESS), history(void)).status == TODO
    assert derive_leaf(task("t", SKIPPED), history(void)).status == SKIPPED
    assert derive_leaf(task("t", IN_PROGRESS), history(run(0, RunStatus.FAILED), void)).status == FAILED


def test_a_task_whose_deletion_was_cut_off_is_to_do() -> None:
    dropped = run(1, RunStatus.SUCCESS, superseded_at=LATER, superseded_by=SUPERSEDED_BY_DELETE)
    assert derive_leaf(task("t", WAITING), history(dropped)).status == TODO
    assert derive_leaf(task("t", DONE), history(dropped)).status == DONE


def test_tasks_of_this_plan_whose_status_differs_are_named() -> None:
    plan = tree({"p": TODO, "a": TODO, "b": DONE}, {"a": "p", "b": "p"})
    runs = [run(number, task_id=name) for number, name in enumerate(["p", "a", "b", "elsewhere"])]
    assert PlanState(plan, histories(*runs)).drift == {"a": (TODO, DONE), "p": (TODO, DONE)}


def moved(plan: Plan, **wanted: Status) -> dict[str, str]:
    after = apply_statuses(
        plan, {TaskId(name): status for name, status in wanted.items()}, Transition(LATER, OFF)
    )
    for name, one in after.tasks.items():
        changed = one.status != plan.tasks[name].status
        assert one.updated_at == (LATER if changed else STAMP)
    return statuses(after)


DEEP = {"top": "", "mid": "top", "a": "mid", "b": "mid", "c": "top"}
ABOVE = {name: above for name, above in DEEP.items() if above}


@pytest.mark.parametrize("status", [IN_PROGRESS, WAITING, DONE, FAILED], ids=lambda status: str(status.value))
def test_parents_are_in_progress_while_children_are_worked_on(status: Status) -> None:
    plan = tree(dict.fromkeys(DEEP, TODO), ABOVE)
    after = moved(plan, a=status)
    assert (after["mid"], after["top"], after["c"]) == ("in_progress", "in_progress", "todo")


@pytest.mark.parametrize("status", [TODO, Status.QUEUED, Status.BLOCKED, SKIPPED])
def test_parents_wait_while_nobody_works(status: Status) -> None:
    after = moved(tree(dict.fromkeys(DEEP, TODO), ABOVE), a=status)
    assert (after["mid"], after["top"]) == ("todo", "todo")


@pytest.mark.parametrize("stored", list(Status))
def test_parents_are_done_when_every_child_is(stored: Status) -> None:
    plan = tree({"top": stored, "mid": stored, "a": TODO, "b": DONE, "c": DONE}, ABOVE)
    assert moved(plan, a=DONE) == dict.fromkeys(DEEP, "done")


def test_a_parent_is_done_beside_skipped_children_if_one_is_done() -> None:
    plan = tree({"top": TODO, "mid": TODO, "a": TODO, "b": SKIPPED, "c": TODO}, ABOVE)
    assert moved(plan, a=DONE)["mid"] == "done"
    assert moved(plan, a=DONE, c=SKIPPED)["top"] == "done"
    assert moved(plan, a=SKIPPED)["mid"] == "todo"


def test_a_skipped_child_that_is_to_be_done_after_all_reopens_what_is_above() -> None:
    plan = tree({"top": DONE, "mid": DONE, "a": DONE, "b": SKIPPED, "c": DONE}, ABOVE)
    after = moved(plan, b=TODO)
    assert (after["mid"], after["top"]) == ("in_progress", "in_progress")
    assert moved(plan, b=DONE) == dict.fromkeys(DEEP, "done")
    assert moved(plan, a=SKIPPED)["mid"] == "in_progress"


@pytest.mark.parametrize("status", [status for status in Status if status not in {DONE, SKIPPED}])
def test_ancestors_reopen_in_the_write_in_which_a_leaf_leaves_done(status: Status) -> None:
    plan = tree(dict.fromkeys(DEEP, DONE), ABOVE)
    after = moved(plan, a=status)
    assert after == {"top": "in_progress", "mid": "in_progress", "a": status.value, "b": "done", "c": "done"}


def test_one_leaf_leaves_done_while_its_siblings_become_done() -> None:
    plan = tree({"top": IN_PROGRESS, "mid": DONE, "a": DONE, "b": DONE, "c": TODO}, ABOVE)
    assert moved(plan, a=FAILED, c=DONE) == {
        "top": "in_progress",
        "mid": "in_progress",
        "a": "failed",
        "b": "done",
        "c": "done",
    }


def test_what_the_go_program_marked_done_is_left_alone() -> None:
    plan = tree({"top": DONE, "mid": DONE, "a": TODO, "b": FAILED, "c": DONE}, ABOVE)
    after = moved(plan, a=IN_PROGRESS)
    assert (after["top"], after["mid"]) == ("done", "done")


@pytest.mark.parametrize("stored", [FAILED, Status.BLOCKED, SKIPPED])
def test_a_parent_that_someone_set_aside_stays_so_until_its_children_are_done(stored: Status) -> None:
    plan = tree({"top": TODO, "mid": stored, "a": TODO, "b": TODO, "c": TODO}, ABOVE)
    assert moved(plan, a=IN_PROGRESS)["mid"] == stored.value


def test_settling_marks_parents_from_the_leaves_up() -> None:
    plan = tree({"top": IN_PROGRESS, "mid": TODO, "a": DONE, "b": DONE, "c": DONE}, ABOVE)
    assert statuses(derive(plan, {}, OFF)) == dict.fromkeys(DEEP, "done")


def test_settling_a_settled_plan_gives_the_very_same_value() -> None:
    plan = tree({"top": DONE, "mid": DONE, "a": TODO, "b": DONE, "c": DONE}, ABOVE)
    assert derive(plan, {}, OFF) is plan


def test_a_very_deep_tree_settles_and_reopens() -> None:
    names = [f"n{number:05d}" for number in range(20_000)]
    above = dict(zip(names[1:], names, strict=False))
    children = {parent: child for child, parent in above.items()}
    plan = plan_of(
        *(
            task(
                name,
                DONE if name == names[-1] else TODO,
                parent=above.get(name),
                children=[children[name]] if name in children else [],
            )
            for name in names
        )
    )
    settled = derive(plan, {}, OFF)
    assert set(statuses(settled).values()) == {"done"}
    opened = apply_statuses(settled, {TaskId(names[-1]): TODO}, Transition(LATER, OFF))
    assert set(list(statuses(opened).values())[:-1]) == {"in_progress"}
