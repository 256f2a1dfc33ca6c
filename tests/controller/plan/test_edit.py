"""Plan edits over a real repository: what they keep, what they refuse, what follows from them."""

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from git_blackbird.agents.process.signals import identity
from git_blackbird.controller.core.workspace import hold_controller
from git_blackbird.controller.plan.deletion import delete_as_shown, delete_task, preview_deletion
from git_blackbird.controller.plan.edit import (
    NewTask,
    add_deps,
    add_task,
    change_deps,
    edit_task,
    move_beside,
    move_task,
    remove_deps,
    set_deps,
)
from git_blackbird.controller.plan.outcomes import deletion_lines
from git_blackbird.controller.plan.page import edit_page
from git_blackbird.controller.plan.page_reading import page_of
from git_blackbird.controller.queries.status import build_overview
from git_blackbird.errors import RequestError
from git_blackbird.messages.document import plain
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.plan_edits import TreePosition
from git_blackbird.model.rules.task_fields import TaskFields
from git_blackbird.model.run.parts import LandingDue
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import DecisionState, ReviewState, RunStatus
from git_blackbird.model.views.events import Event, Notice
from tests.cli.plans import run, task
from tests.controller.support import (
    Person,
    configure,
    execute,
    leaf,
    open_at,
    put_plan,
    runs_of,
    status,
    store_at,
)

A, B, P, Q = map(TaskId, ["a", "b", "p", "q"])
PENDING: dict[str, Any] = {"decision_required": True, "decision_state": DecisionState.PENDING}


def plan_of(repo: Path) -> Plan:
    return store_at(repo).plan()


def record(repo: Path, *runs: Run) -> None:
    with store_at(repo).transaction() as transaction:
        for one in runs:
            transaction.save_run(one)


def refused(change: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(RequestError) as caught:
        change()
    return caught.value.message, caught.value.hint or ""


@pytest.fixture
def family(repo: Path) -> Path:
    """``p`` with the children ``a`` and ``b``, ``q`` without any; ``b`` depends on ``a``, ``q`` on both."""
    put_plan(
        repo,
        task("p", children=("a", "b")),
        task("a", parent="p"),
        task("b", parent="p", deps=("a",)),
        task("q", deps=("a", "b")),
    )
    return repo


@pytest.fixture
def at_work(family: Path) -> Path:
    """The same, with an agent at work on ``a``; this process stands for it."""
    started: dict[str, Any] = {"pid": os.getpid(), "process_identity": identity(os.getpid())}
    record(family, run("a", status=RunStatus.RUNNING, **started))
    return family


def test_an_edit_gives_what_was_and_what_is(family: Path) -> None:
    done = edit_task(open_at(family), "a", lambda now: replace(now, title="New", notes=""))
    assert done.fields == ("title", "notes")
    assert (done.before.title, done.after.title) == ("Task a", "New")
    assert plan_of(family).tasks[A].title == "New"


def test_an_edit_that_changes_nothing_writes_nothing(family: Path) -> None:
    before = (family / "blackbird.plan.json").stat().st_ino
    done = edit_task(open_at(family), "a", lambda now: now)
    assert done.fields == ()
    assert (family / "blackbird.plan.json").stat().st_ino == before


def test_an_edit_sees_what_others_wrote_meanwhile(family: Path) -> None:
    early = open_at(family)
    early.store.plan()
    edit_task(open_at(family), "a", lambda now: replace(now, notes="theirs"))
    seen: list[TaskFields] = []

    def change(now: TaskFields) -> TaskFields:
        seen.append(now)
        return replace(now, title="Mine")

    edit_task(early, "a", change)
    assert seen[0].notes == "theirs"
    assert (plan_of(family).tasks[A].title, plan_of(family).tasks[A].notes) == ("Mine", "theirs")


def test_dependencies_are_added_removed_and_set(family: Path) -> None:
    workspace = open_at(family)
    assert add_deps(workspace, "q", ["b", "p"]).after.deps == ("a", "b", "p")
    assert remove_deps(workspace, "q", ["a", "p", "a"]).after.deps == ("b",)
    assert set_deps(workspace, "q", ["p", "a", "p"]).after.deps == ("p", "a")
    assert set_deps(workspace, "q", []).after.deps == ()
    assert plan_of(family).tasks[Q].deps == ()


def test_dependencies_that_are_refused(family: Path) -> None:
    workspace = open_at(family)
    nothing = "nothing was changed"
    assert refused(lambda: add_deps(workspace, "a", ["b"])) == (
        "dependency cycle detected: a -> b -> a",
        f"{nothing}; remove one of these dependencies first",
    )
    assert refused(lambda: add_deps(workspace, "a", ["a"])) == ('cannot add self-dependency: "a"', nothing)
    assert refused(lambda: add_deps(workspace, "qq", ["a"])) == ('unknown id "qq"', "did you mean q?")
    assert refused(lambda: set_deps(workspace, "q", ["a", "bb"])) == ('unknown id "bb"', "did you mean b?")
    assert refused(lambda: remove_deps(workspace, "b", ["q", "p"])) == (
        "b does not depend on q, p: nothing was changed",
        "it depends on a",
    )
    assert refused(lambda: remove_deps(workspace, "a", ["q"]))[1] == "it depends on nothing"
    assert plan_of(family).tasks[Q].deps == ("a", "b")


def test_a_circle_through_a_parent_is_told(family: Path) -> None:
    assert add_deps(open_at(family), "a", ["p"]).deadlock == ("a", "p", "a")
    assert add_deps(open_at(family), "q", ["p"]).deadlock is None


@pytest.mark.parametrize(
    ("destination", "place"),
    [
        (("q", None), TreePosition(Q, 0)),
        (("/q", None), TreePosition(Q, 0)),
        (("root", None), TreePosition(None, 0)),
        (("/", None), TreePosition(None, 0)),
        (("/", 2), TreePosition(None, 2)),
        (("p", None), TreePosition(P, 1)),
        ((None, 1), TreePosition(P, 1)),
        (("p", 1), TreePosition(P, 1)),
    ],
)
def test_a_task_is_moved(
    family: Path, destination: tuple[str | None, int | None], place: TreePosition
) -> None:
    set_deps(open_at(family), "q", [])
    done = move_task(open_at(family), "a", *destination)
    assert (done.place, done.is_changed) == (place, True)
    assert plan_of(family).tasks[A].parent == place.parent


def test_a_task_that_stands_there_is_left_alone(family: Path) -> None:
    before = (family / "blackbird.plan.json").stat().st_ino
    done = move_task(open_at(family), "a", "p", 0)
    assert (done.place, done.is_changed) == (TreePosition(P, 0), False)
    assert (family / "blackbird.plan.json").stat().st_ino == before


def test_places_that_are_refused(family: Path) -> None:
    workspace = open_at(family)
    assert refused(lambda: move_task(workspace, "p", "a"))[0] == ("hierarchy cycle detected: a -> p -> a")
    assert refused(lambda: move_task(workspace, "p", "p"))[0] == ("hierarchy cycle detected: p -> p")
    assert refused(lambda: move_task(workspace, "a", "p", 2))[0] == ("index out of range: 2 (valid: 0..1)")
    assert refused(lambda: move_task(workspace, "q", None, 2))[0] == ("index out of range: 2 (valid: 0..1)")
    assert refused(lambda: move_task(workspace, "a", "pp")) == (
        'unknown id "pp"',
        "did you mean p?",
    )


def test_a_task_is_moved_beside_another_wherever_that_stands_by_now(family: Path) -> None:
    workspace = open_at(family)
    set_deps(workspace, "q", [])
    assert move_beside(workspace, "q", "a", is_before=True).place == TreePosition(P, 0)
    assert move_beside(workspace, "q", "a").place == TreePosition(P, 1)
    assert not move_beside(workspace, "q", "a").is_changed
    assert move_beside(workspace, "a", "p").place == TreePosition(None, 1)
    assert refused(lambda: move_beside(workspace, "a", "a"))[0] == "a cannot be moved beside itself"
    assert refused(lambda: move_beside(workspace, "p", "q"))[0] == "hierarchy cycle detected: p -> p"


def test_dependencies_that_two_people_change_are_merged(repo: Path) -> None:
    put_plan(repo, task("a"), task("b"), task("c"), task("d", deps=("a", "b")))
    base = plan_of(repo).tasks[TaskId("d")].deps
    set_deps(open_at(repo), "d", ["b", "c"])
    wanted = (TaskId("a"), TaskId("c"))
    assert change_deps(open_at(repo), "d", base, wanted).after.deps == ("c",)


def test_a_deletion_is_seen_before_it_is_carried_out(repo: Path) -> None:
    put_plan(
        repo, task("p", children=("a",)), task("a", parent="p"), task("user", deps=("a",)), task("other")
    )
    record(repo, run("a"))
    before = (repo / "blackbird.plan.json").read_bytes()
    shown = preview_deletion(open_at(repo), "p")
    assert (repo / "blackbird.plan.json").read_bytes() == before
    assert [*plain(deletion_lines(shown))] == [
        "would delete p and 1 task below it: a",
        "would remove it from the dependencies of: user",
        "  kept: 1 run of a (git blackbird runs a)",
    ]
    assert shown.options == ("--cascade-children", "--force")
    add_deps(open_at(repo), "other", ["p"])
    assert refused(lambda: delete_as_shown(open_at(repo), shown)) == (
        "the plan changed meanwhile: deleting p would have other consequences",
        "nothing was changed; look at them again",
    )
    delete_as_shown(open_at(repo), preview_deletion(open_at(repo), "p"))
    assert sorted(plan_of(repo).tasks) == ["other", "user"]
    assert [task.deps for task in plan_of(repo).tasks.values()] == [(), ()]


def test_a_task_called_root_is_not_taken_for_the_top(repo: Path) -> None:
    put_plan(repo, task("root"), task("a", parent="q"), task("q", children=("a",)))
    assert refused(lambda: move_task(open_at(repo), "a", "root")) == (
        '"root" is both the top of the plan and the id of a task',
        "--parent / is the top, --parent /root the task",
    )
    assert move_task(open_at(repo), "a", "/root").place == TreePosition(TaskId("root"), 0)
    assert move_task(open_at(repo), "a", "/").place == TreePosition(None, 0)


def test_moving_says_what_follows(repo: Path) -> None:
    put_plan(
        repo,
        task("p", children=("a",), status=Status.DONE),
        task("a", parent="p", status=Status.DONE),
        task("q", children=("b", "c"), status=Status.IN_PROGRESS),
        task("b", parent="q", status=Status.DONE),
        task("c", parent="q"),
        task("user", deps=("p",), status=Status.DONE),
        task("later", deps=("p",)),
    )
    done = move_task(open_at(repo), "c", "p")
    assert done.followed == {"p": Status.IN_PROGRESS, "q": Status.WAITING_USER}
    assert done.not_undone == ("user",)
    assert {name: status(repo, name) for name in "pq"} == done.followed


def test_a_parent_that_is_a_leaf_again_stands_as_its_own_runs_say(repo: Path) -> None:
    put_plan(
        repo,
        task("p", children=("a",), status=Status.IN_PROGRESS),
        task("a", parent="p"),
        task("q", children=("b",), status=Status.IN_PROGRESS),
        task("b", parent="q"),
    )
    record(repo, run("p", status=RunStatus.FAILED))
    assert delete_task(open_at(repo), "a").followed == {"p": Status.FAILED}
    assert move_task(open_at(repo), "b", "/").followed == {"q": Status.TODO}


def test_deleting_alone_with_children_and_with_dependents(family: Path) -> None:
    workspace = open_at(family)
    assert refused(lambda: delete_task(workspace, "p")) == (
        'refusing to delete "p": has children (use --cascade-children)',
        "this also deletes a, b",
    )
    broken = "refusing to delete: would break dependents (a (dependents: q); b (dependents: q))"
    way = "Use --force to remove those dep edges"
    assert refused(lambda: delete_task(workspace, "p", cascade_children=True)) == (
        f"{broken}. {way}",
        "nothing was changed",
    )
    assert len(plan_of(family).tasks) == 4
    done = delete_task(workspace, "p", cascade_children=True, force=True)
    assert (done.task_ids, done.detached, done.runs) == (("p", "a", "b"), ("q",), {})
    assert plan_of(family) == Plan({Q: replace(plan_of(family).tasks[Q], deps=())})


def test_the_runs_of_a_deleted_task_stay_and_are_named(repo: Path) -> None:
    put_plan(repo, leaf("a", "say hello"), leaf("b"))
    record(repo, run("a"), run("a", "019b7c4e52000002"))
    done = delete_task(open_at(repo), "a")
    assert done.runs == {"a": ("019b7c4e52000001", "019b7c4e52000002")}
    assert len(list((repo / ".blackbird/runs/a").glob("*.json"))) == 2


def test_a_new_task_does_not_inherit_the_runs_of_a_deleted_one(repo: Path) -> None:
    put_plan(repo, task("a", status=Status.DONE))
    record(repo, run("a"))
    delete_task(open_at(repo), "a")
    assert refused(lambda: add_task(open_at(repo), NewTask("Again", id="a"))) == (
        'runs of a deleted task "a" are still here and would count for the new one',
        "choose another id; `git blackbird runs a` shows them",
    )
    assert plan_of(repo).tasks == {}


def test_a_decision_that_is_due_is_not_deleted_unasked(repo: Path) -> None:
    put_plan(repo, task("p", children=("a",)), task("a", parent="p", status=Status.WAITING_USER))
    record(repo, run("a", **PENDING))
    message, hint = refused(lambda: delete_task(open_at(repo), "p", cascade_children=True))
    assert message == 'refusing to delete "a": a decision on it is due (run 019b7c4e52000001)'
    assert hint.splitlines() == [
        "git blackbird decide a --approve    # or --request-changes -m TEXT, or --reject",
        "--force deletes it anyway",
    ]
    done = delete_task(open_at(repo), "p", cascade_children=True, force=True)
    assert (done.task_ids, done.dropped) == (("p", "a"), ("019b7c4e52000001",))
    kept = runs_of(repo, "a")[0]
    assert (kept.superseded_by, kept.decision_state) == ("delete", DecisionState.REJECTED)
    assert kept.decision_feedback == "superseded by delete"


def test_a_change_that_is_being_checked_is_not_deleted_unasked(repo: Path) -> None:
    configure(repo, agent="demo", execution__stopAfterEachTask="true", check__command="true")
    put_plan(repo, leaf("a", "write x 1"))
    refusals = []

    class Elsewhere(Person):
        def notify(self, event: Event) -> None:
            super().notify(event)
            if isinstance(event, Notice) and event.text == "checking a: true":
                refusals.append(refused(lambda: delete_task(open_at(repo), "a")))
                without = partial(edit_page, open_at(repo), page_of(plan_of(repo)), (), None, [A])
                refusals.append(refused(without))
                delete_task(open_at(repo), "a", force=True)

    execute(repo, Elsewhere())
    kept = runs_of(repo, "a")[0]
    what = f'refusing to delete "a": its change is not finished: check due (run {kept.id})'
    assert refusals == [
        (what, "--force deletes it anyway"),
        (what, "git blackbird delete a --force    # deletes it anyway"),
    ]
    assert (kept.superseded_by, kept.is_pending) == ("delete", False)
    assert build_overview(open_at(repo)).orphaned == ()


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"review_state": ReviewState.DUE}, "its change is not finished: reviews due"),
        ({"landing": LandingDue()}, "its change is not finished: to commit"),
    ],
)
def test_a_change_that_is_not_finished_is_dropped_with_its_task(
    repo: Path, fields: dict[str, Any], why: str
) -> None:
    put_plan(repo, leaf("a"))
    record(repo, run("a").updated(**fields))
    assert refused(lambda: delete_task(open_at(repo), "a"))[0].startswith(f'refusing to delete "a": {why}')
    assert delete_task(open_at(repo), "a", force=True).dropped == ("019b7c4e52000001",)
    assert runs_of(repo, "a")[0].superseded_by == "delete"


def test_a_task_at_work_is_left_alone(at_work: Path) -> None:
    workspace = open_at(at_work)
    for change in (
        lambda: edit_task(workspace, "a", lambda now: replace(now, title="x")),
        lambda: set_deps(workspace, "a", []),
        lambda: move_task(workspace, "a", "/"),
        lambda: delete_task(workspace, "a", force=True),
        lambda: delete_task(workspace, "p", cascade_children=True, force=True),
        lambda: add_task(workspace, NewTask("x", parent="a")),
        lambda: move_task(workspace, "q", "a"),
    ):
        message, hint = refused(change)
        assert message.startswith("an agent is working on a (run 019b7c4e52000001, process ")
        assert hint == "no controller is running it; `git blackbird execute` stops it"
    with hold_controller(workspace, "git blackbird execute"):
        _, hint = refused(lambda: set_deps(workspace, "a", []))
    assert hint == "Ctrl+C in the terminal that runs it pauses it"
    edit_task(workspace, "b", lambda now: replace(now, title="x"))


def test_work_in_hand_does_not_become_a_parent(repo: Path) -> None:
    put_plan(
        repo, *(task(name, status=Status.WAITING_USER) for name in "ab"), task("c", status=Status.FAILED)
    )
    record(
        repo,
        run("a", status=RunStatus.PAUSED),
        run("b", **PENDING),
        run("c", status=RunStatus.FAILED, **PENDING),
    )
    put_plan(repo, *plan_of(repo).tasks.values(), task("n"))
    retry = "finish it first, or abandon it: `git blackbird retry a`"
    assert refused(lambda: move_task(open_at(repo), "n", "a")) == (
        "a cannot become a parent while it is waiting_user",
        retry,
    )
    for name, way in (("b", "decide"), ("c", "restart")):
        message, hint = refused(partial(move_task, open_at(repo), "n", name))
        assert message == f"{name} cannot become a parent yet: a decision on it is due"
        assert hint.startswith(f"git blackbird {way} {name}")


def test_an_agent_changes_no_tasks(family: Path) -> None:
    workspace = open_at(family, BLACKBIRD_RUN_ID="019b7c4e52000001")
    for change, what in (
        (lambda: edit_task(workspace, "a", lambda now: now), "edit tasks"),
        (lambda: set_deps(workspace, "a", []), "edit tasks"),
        (lambda: move_task(workspace, "a", "/"), "move tasks"),
        (lambda: delete_task(workspace, "q"), "delete tasks"),
    ):
        assert refused(change)[0] == f"an agent may not {what}: agents do not judge themselves"


def test_the_record_of_a_dead_agent_of_a_deleted_task_harms_nothing(family: Path) -> None:
    record(family, run("a", status=RunStatus.RUNNING, pid=1, process_identity="another boot"))
    delete_task(open_at(family), "p", cascade_children=True, force=True)
    delete_task(open_at(family), "q")
    assert execute(family).exit_code == 0
