"""A dry run says what the execute does."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from git_blackbird.controller.engine.commands import execute_loop
from git_blackbird.controller.engine.dry_run import forecast
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import is_ready
from git_blackbird.model.plan.plan import Plan, Task, new_task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import ReviewGate, Transition
from git_blackbird.model.rules.status import PlanProgress, apply_statuses, derive
from git_blackbird.model.views.events import RunStarted
from tests.controller.support import (
    STAMP,
    Person,
    configure,
    leaf,
    open_at,
    parent_of,
    put_plan,
    with_no_screen,
)
from tests.support import commit, examples, git

_MOMENT = Transition(STAMP, ReviewGate(is_on=False, histories={}))
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
            name: replace(
                new_task(name, name, STAMP),
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
    plan = derive(plan, {}, _MOMENT.gate)
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


def made(repo: Path) -> Path:
    """A repository whose tasks the demo agent does."""
    repo.mkdir(exist_ok=True)
    git(repo, "init", "-q", "-b", "main")
    commit(repo, {"README.md": "x\n"})
    configure(repo, agent="demo", execution__acceptNoChange="true")
    return repo


def started(repo: Path, limit: int | None = None) -> list[TaskId]:
    """Execute; return the tasks whose agents and reviewers were started, in order."""
    person = Person()
    with_no_screen(open_at(repo), person, lambda workspace, ui: execute_loop(workspace, ui, [], limit))
    return [event.task_id for event in person.events if isinstance(event, RunStarted)]


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans(), st.sampled_from([None, 2]), st.booleans())
def test_an_execute_starts_what_the_dry_run_said(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan, limit: int | None, reviews: bool
) -> None:
    repo = made(tmp_path_factory.mktemp("forecast"))
    configure(repo, execution__parentReviewEnabled=str(reviews).lower())
    put_plan(repo, *plan.tasks.values())
    foreseen = [task.id for task in forecast(open_at(repo), [], limit).order]
    assert started(repo, limit) == foreseen


def test_parents_that_wait_for_their_review_are_foreseen_in_its_order(tmp_path: Path) -> None:
    repo = made(tmp_path / "repo")
    below = [("b", "a"), ("f", "c"), ("g", "d")]
    done = [replace(leaf(name, parent=parent), status=Status.DONE) for name, parent in below]
    inner = replace(parent_of("d", ["g"]), parent=TaskId("c"))
    put_plan(repo, parent_of("a", ["b"]), parent_of("c", ["d", "f"]), inner, *done)
    foreseen = [task.id for task in forecast(open_at(repo), [], None).order]
    assert started(repo) == foreseen == ["a", "d", "c"]


def test_a_parent_is_foreseen_again_once_a_skipped_one_below_it_is_done(tmp_path: Path) -> None:
    repo = made(tmp_path / "repo")
    skipped = replace(parent_of("d", ["f"]), parent=TaskId("a"), status=Status.SKIPPED)
    put_plan(repo, parent_of("a", ["c", "d"]), leaf("c", parent="a"), skipped, leaf("f", parent="d"))
    foreseen = [task.id for task in forecast(open_at(repo), [], None).order]
    assert started(repo) == foreseen == ["c", "a", "f", "d", "a"]


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
