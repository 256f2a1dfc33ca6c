"""A dry run says what the execute does."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.controller.forecast import forecast
from git_blackbird.controller.requests import execute_loop
from git_blackbird.model.events import RunStarted
from git_blackbird.model.gate import Gate, Moment
from git_blackbird.model.graph import is_ready
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task
from git_blackbird.model.plan_progress import PlanProgress
from git_blackbird.model.status import apply_statuses, settled_parents
from tests.controller.support import (
    STAMP,
    Person,
    configure,
    leaf,
    open_at,
    put_plan,
    with_no_screen,
)
from tests.support import commit, examples, git

_MOMENT = Moment(STAMP, Gate(is_on=False, histories={}))
_STATUSES = st.sampled_from(
    [Status.TODO, Status.TODO, Status.TODO, Status.DONE, Status.SKIPPED, Status.FAILED]
)


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Trees of at most three levels, any of whose tasks depend on any that were made before."""
    tasks: dict[TaskId, Task] = {}
    names = draw(st.permutations([TaskId(name) for name in "abcdefgh"[: draw(st.integers(1, 8))]]))
    for name in names:
        above = [None, *(task.id for task in tasks.values())]
        parent = draw(st.sampled_from(above))
        deps = draw(st.sets(st.sampled_from(sorted(tasks)), max_size=2)) if tasks else set()
        tasks[name] = leaf(name, deps=sorted(deps), parent=parent)
    children = {name: sorted(task.id for task in tasks.values() if task.parent == name) for name in tasks}
    return Plan(
        {
            name: Task(
                id=name,
                title=name,
                created_at=STAMP,
                updated_at=STAMP,
                parent=task.parent,
                children=tuple(children[name]),
                deps=task.deps,
                status=draw(_STATUSES),
            )
            for name, task in tasks.items()
        }
    )


@settings(max_examples=examples(300))
@given(plans())
def test_looking_ahead_step_by_step_is_deriving_the_whole_plan_again(plan: Plan) -> None:
    plan = settled_parents(plan, _MOMENT)
    progress = PlanProgress(plan)
    while (task := next((task for task in plan.leaves() if is_ready(plan, task)), None)) is not None:
        assert progress.take_ready() == task
        before, plan = plan, apply_statuses(plan, {task.id: Status.DONE}, _MOMENT)
        now_done = {
            one.id
            for one in plan.tasks.values()
            if one.children and one.status is Status.DONE and before.tasks[one.id].status is not Status.DONE
        }
        assert {parent.id for parent in progress.finish(task)} == now_done
    assert progress.take_ready() is None


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans(), st.sampled_from([None, 2]), st.booleans())
def test_an_execute_starts_what_the_dry_run_said(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan, limit: int | None, reviews: bool
) -> None:
    repo = tmp_path_factory.mktemp("forecast")
    git(repo, "init", "-q", "-b", "main")
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    configure(repo, execution__parentReviewEnabled=str(reviews).lower())
    put_plan(repo, *plan.tasks.values())
    foreseen = [task.id for task in forecast(open_at(repo), [], limit).order]
    person = Person()
    with_no_screen(open_at(repo), person, lambda workspace, face: execute_loop(workspace, face, [], limit))
    assert [event.task_id for event in person.events if isinstance(event, RunStarted)] == foreseen


def test_thousands_of_tasks_are_foreseen_in_one_pass() -> None:
    names = [TaskId(f"t{number:05d}") for number in range(20_000)]
    chain = [
        leaf(name, deps=[before] if before else []) for before, name in zip(["", *names], names, strict=False)
    ]
    progress = PlanProgress(Plan({task.id: task for task in chain}))
    order = []
    while (task := progress.take_ready()) is not None:
        order.append(task.id)
        progress.finish(task)
    assert order == names
