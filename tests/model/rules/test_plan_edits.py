"""``edit``, ``move``, ``delete``, ``deps``: a valid plan stays one, and parents follow."""

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.plan.graph import ancestors, find_deadlock
from git_blackbird.model.plan.plan import Plan
from git_blackbird.model.plan.status import Status
from git_blackbird.model.plan.validation import plan_faults
from git_blackbird.model.rules.plan_edits import (
    TreePosition,
    WantedTask,
    added,
    deleted,
    edited,
    moved,
    outside_dependents,
    rewritten,
)
from git_blackbird.model.rules.reviews import ReviewGate, Transition
from git_blackbird.model.rules.status import apply_statuses
from git_blackbird.model.rules.task_fields import TaskFields, fields_of
from tests.model.building import LATER, STAMP, plan_of, statuses, task, tree
from tests.support import examples

A, B, C, P, Q, TOP = map(TaskId, ["a", "b", "c", "p", "q", "top"])
TODO, DONE, IN_PROGRESS = Status.TODO, Status.DONE, Status.IN_PROGRESS
NOW = Transition(LATER, ReviewGate(is_on=False, histories={}))
FAMILY = tree({"p": TODO, "a": TODO, "b": TODO, "c": TODO, "q": TODO}, {"a": "p", "b": "p", "c": "p"})


def refused(change: Callable[[], object]) -> str:
    with pytest.raises(RequestError) as caught:
        change()
    return caught.value.message


def with_deps(plan: Plan, task_id: TaskId, *deps: TaskId) -> Plan:
    return edited(plan, task_id, replace(fields_of(plan.tasks[task_id]), deps=deps), LATER)


def stamps(plan: Plan) -> set[str]:
    """Tasks that the change touched."""
    return {task_id for task_id, one in plan.tasks.items() if one.updated_at == LATER}


def test_a_new_task_stands_where_it_is_put() -> None:
    new = task("n", parent="p")
    for index, children in ((None, "a b c n"), (0, "n a b c"), (2, "a b n c"), (3, "a b c n")):
        after = added(FAMILY, new, index, NOW)
        assert " ".join(after.tasks[P].children) == children
        assert stamps(after) == {"p"}
    assert added(FAMILY, task("n"), None, NOW).tasks.keys() == {*FAMILY.tasks, "n"}


def test_places_that_are_none() -> None:
    new = task("n", parent="p")
    assert refused(lambda: added(FAMILY, new, 4, NOW)) == "index out of range: 4 (valid: 0..3)"
    assert refused(lambda: added(FAMILY, new, -1, NOW)) == "index out of range: -1 (valid: 0..3)"
    assert refused(lambda: moved(FAMILY, A, TreePosition(P, 3), NOW)) == "index out of range: 3 (valid: 0..2)"
    assert (
        refused(lambda: moved(FAMILY, A, TreePosition(None, 3), NOW)) == "index out of range: 3 (valid: 0..2)"
    )
    assert refused(lambda: added(FAMILY, task("a"), None, NOW)) == 'there is a task "a" already'


def at_top(plan: Plan) -> str:
    return " ".join(root.id for root in plan.roots())


def test_tasks_at_the_top_are_ordered_by_creation_alone() -> None:
    """A generated plan has one time for all of them."""
    plan = plan_of(*map(task, "abcd"))
    for name, index, order in (
        ("d", 0, "d a b c"),
        ("a", 3, "b c d a"),
        ("b", 2, "a c b d"),
        ("c", 1, "a c b d"),
    ):
        after = moved(plan, TaskId(name), TreePosition(None, index), NOW)
        assert at_top(after) == order
        assert plan_faults(after, after.tasks.keys()) == []
        assert moved(after, TaskId(name), TreePosition(None, index), NOW) is after
    assert stamps(moved(plan, TaskId("a"), TreePosition(None, 3), NOW)) == {"a"}
    spread = plan_of(
        *(replace(task(name), created_at=f"2025-01-01T00:00:0{n}Z") for n, name in enumerate("abc"))
    )
    after = moved(spread, TaskId("c"), TreePosition(None, 1), NOW)
    assert (at_top(after), stamps(after)) == ("a c b", {"c"})
    assert after.tasks[TaskId("c")].created_at == "2025-01-01T00:00:00Z"
    assert at_top(added(spread, replace(task("n"), created_at=LATER, updated_at=LATER), 0, NOW)) == "n a b c"
    assert (
        at_top(added(spread, replace(task("n"), created_at=LATER, updated_at=LATER), None, NOW)) == "a b c n"
    )


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=2, max_size=7),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=9),
)
def test_any_order_at_the_top_can_be_made(seconds: list[int], moves: list[tuple[int, int]]) -> None:
    times = (f"2026-01-01T00:00:0{second}Z" for second in seconds)
    plan = plan_of(*(replace(task(f"t{n}"), created_at=at, updated_at=LATER) for n, at in enumerate(times)))
    for which, index in moves:
        order = at_top(plan).split()
        name = order.pop(which % (len(order)))
        order.insert(index % (len(order) + 1), name)
        plan = moved(plan, TaskId(name), TreePosition(None, order.index(name)), NOW)
        assert at_top(plan).split() == order
        assert plan_faults(plan, plan.tasks.keys()) == []


def test_nothing_comes_after_the_end_of_time() -> None:
    last = "9999-12-31T23:59:59.999999999Z"
    plan = plan_of(*(replace(task(name), created_at=last, updated_at=last) for name in "ab"))
    told = "b was created at the end of time: nothing comes after it"
    assert refused(lambda: moved(plan, A, TreePosition(None, 1), NOW)) == told


def test_fields_are_changed_and_nothing_else() -> None:
    wanted = TaskFields("New", "text", "do it", ("it works",), "for people", (B,))
    after = edited(FAMILY, A, wanted, LATER)
    assert fields_of(after.tasks[A]) == wanted
    assert stamps(after) == {"a"}
    assert replace(after.tasks[A], updated_at=STAMP, **vars(fields_of(FAMILY.tasks[A]))) == FAMILY.tasks[A]


def test_a_task_edited_to_what_it_is_stays_the_same_value() -> None:
    plan = with_deps(FAMILY, A, B, C)
    assert edited(plan, A, fields_of(plan.tasks[A]), LATER) is plan
    assert with_deps(plan, A, B, C, B) is plan


def test_a_dependency_counts_once_and_takes_its_reason_along() -> None:
    reasons = {B: "it builds on it", C: "it needs it"}
    plan = FAMILY.replaced(replace(FAMILY.tasks[A], deps=(B, C), dep_rationale=reasons))
    after = with_deps(plan, A, Q, B, Q).tasks[A]
    assert (after.deps, after.dep_rationale) == ((Q, B), {B: "it builds on it"})
    assert deleted(plan, {B}, NOW).tasks[A].dep_rationale == {C: "it needs it"}


def test_dependencies_that_make_no_plan() -> None:
    plan = with_deps(with_deps(FAMILY, A, B), B, C)
    assert refused(lambda: with_deps(plan, C, A)) == "dependency cycle detected: a -> b -> c -> a"
    assert refused(lambda: with_deps(plan, A, A)) == 'cannot add self-dependency: "a"'
    assert refused(lambda: with_deps(plan, A, TaskId("x"))) == 'unknown dep id "x"'


@pytest.mark.parametrize(
    ("place", "p", "q"),
    [
        (TreePosition(Q), "b c", "a"),
        (TreePosition(None), "b c", ""),
        (TreePosition(P), "b c a", ""),
        (TreePosition(P, 1), "b a c", ""),
        (TreePosition(P, 2), "b c a", ""),
        (TreePosition(P, 0), "a b c", ""),
        (TreePosition(Q, 0), "b c", "a"),
    ],
)
def test_a_task_is_moved(place: TreePosition, p: str, q: str) -> None:
    after = moved(FAMILY, A, place, NOW)
    assert (" ".join(after.tasks[P].children), " ".join(after.tasks[Q].children)) == (p, q)
    assert after.tasks[A].parent == place.parent
    touched = {"p"} if place.parent == P else {"a", "p"} | ({"q"} if place.parent == Q else set())
    assert stamps(after) == (touched if after is not FAMILY else set())


def test_a_task_moved_to_where_it_stands_is_the_same_value() -> None:
    assert moved(FAMILY, A, TreePosition(P, 0), NOW) is FAMILY
    assert moved(FAMILY, C, TreePosition(P), NOW) is FAMILY
    assert moved(FAMILY, Q, TreePosition(None), NOW) is FAMILY


def test_a_task_is_not_moved_below_itself() -> None:
    deep = tree(dict.fromkeys(["a", "b", "c"], TODO), {"b": "a", "c": "b"})
    assert refused(lambda: moved(deep, A, TreePosition(A), NOW)) == "hierarchy cycle detected: a -> a"
    assert refused(lambda: moved(deep, A, TreePosition(B), NOW)) == "hierarchy cycle detected: a -> b -> a"
    assert (
        refused(lambda: moved(deep, A, TreePosition(C), NOW)) == "hierarchy cycle detected: a -> c -> b -> a"
    )
    assert moved(deep, C, TreePosition(A, 0), NOW).tasks[A].children == (C, B)


def test_deleting_takes_every_link_along() -> None:
    plan = with_deps(with_deps(FAMILY, Q, A, B), C, A)
    assert outside_dependents(plan, {A, B}) == {A: (C, Q), B: (Q,)}
    assert outside_dependents(plan, {A, B, C}) == {A: (Q,), B: (Q,)}
    after = deleted(plan, {A, B}, NOW)
    assert set(after.tasks) == {"p", "c", "q"}
    assert after.tasks[P].children == (C,)
    assert (after.tasks[C].deps, after.tasks[Q].deps) == ((), ())
    assert not plan_faults(after, after.tasks.keys())


def followed(before: Plan, after: Plan) -> dict[str, str]:
    was = statuses(before)
    return {name: status for name, status in statuses(after).items() if was.get(name) != status}


def test_open_work_reopens_the_parents_it_comes_under() -> None:
    above = {"mid": "top", "a": "mid", "b": "top"}
    plan = tree({"top": DONE, "mid": DONE, "a": DONE, "b": DONE, "n": TODO, "d": DONE}, above)
    for after in (
        added(plan, task("x", parent="mid"), None, NOW),
        moved(plan, TaskId("n"), TreePosition(TaskId("mid")), NOW),
    ):
        reopened = {"mid": "in_progress", "top": "in_progress"}
        assert followed(plan, after) | {"x": "todo"} == reopened | {"x": "todo"}
    assert followed(plan, moved(plan, TaskId("d"), TreePosition(TaskId("mid")), NOW)) == {}


def test_a_parent_whose_last_open_child_leaves_is_done_and_so_are_those_above() -> None:
    above = {"mid": "top", "a": "mid", "b": "mid"}
    plan = tree({"top": IN_PROGRESS, "mid": IN_PROGRESS, "a": DONE, "b": TODO}, above)
    done = {"mid": "done", "top": "done"}
    assert followed(plan, moved(plan, B, TreePosition(None), NOW)) == done
    assert followed(plan, deleted(plan, {B}, NOW)) == done


def test_a_parent_follows_the_work_that_comes_under_it() -> None:
    plan = tree({"top": TODO, "q": TODO, "b": TODO, "w": IN_PROGRESS}, {"q": "top", "b": "q"})
    after = moved(plan, TaskId("w"), TreePosition(Q), NOW)
    assert followed(plan, after) == {"q": "in_progress", "top": "in_progress"}


@pytest.mark.parametrize("status", list(Status))
def test_a_parent_that_lost_its_last_child_is_a_leaf_again(status: Status) -> None:
    plan = tree({"top": TODO, "p": status, "a": TODO, "b": TODO}, {"p": "top", "a": "p"})
    was_of_its_children = status in {IN_PROGRESS, Status.WAITING_USER, Status.QUEUED}
    for after in (deleted(plan, {A}, NOW), moved(plan, A, TreePosition(None), NOW)):
        assert after.tasks[P].status == (TODO if was_of_its_children else status)


def test_waiting_in_a_circle_is_found() -> None:
    plan = tree(dict.fromkeys("pabq", TODO), {"a": "p", "q": "p"})
    assert find_deadlock(plan) is None
    assert find_deadlock(with_deps(plan, A, P)) == ("a", "p", "a")
    assert find_deadlock(with_deps(with_deps(plan, A, B), B, P)) == ("a", "b", "p", "a")
    assert find_deadlock(with_deps(plan, P, A)) is None
    done = plan.replaced(replace(plan.tasks[P], status=DONE))
    assert find_deadlock(with_deps(done, A, P)) is None


class Chance:
    """Changes of chance, and the plan they make."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.plan = Plan()
        self.made = 0

    def some(self) -> TaskId:
        return self.pick.choice(sorted(self.plan.tasks))

    def place(self) -> TreePosition:
        parent = self.pick.choice([None, *self.plan.tasks])
        return TreePosition(parent, None if parent is None else self.pick.choice([None, 0, 1, 2]))

    def change(self) -> Plan:
        self.made += 1
        what = self.pick.randrange(6) if self.plan.tasks else 0
        match what:
            case 0 | 1:
                place = self.place()
                new = replace(task(f"t{self.made}"), parent=place.parent)
                return added(self.plan, new, place.index, NOW)
            case 2:
                return moved(self.plan, self.some(), self.place(), NOW)
            case 3:
                return deleted(self.plan, self.with_children(self.some()), NOW)
            case 4:
                deps = tuple(self.some() for _ in range(self.pick.randrange(3)))
                return with_deps(self.plan, self.some(), *deps)
            case _:
                leaf = self.pick.choice(self.plan.leaves())
                status = self.pick.choice([DONE, DONE, *Status])
                return apply_statuses(self.plan, {leaf.id: status}, NOW)

    def with_children(self, task_id: TaskId) -> set[TaskId]:
        below = {
            key
            for key, one in self.plan.tasks.items()
            if task_id in {above.id for above in ancestors(self.plan, one)}
        }
        return {task_id, *below}


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_is_changed_the_plan_stays_valid_and_parents_follow(seed: int) -> None:
    chance = Chance(seed)
    for _ in range(30):
        try:
            chance.plan = chance.change()
        except RequestError as error:
            if not re.match("dependency cycle|hierarchy cycle|index out of|cannot add self", error.message):
                raise
        tasks = chance.plan.tasks
        assert plan_faults(chance.plan, tasks.keys()) == []
        for parent in tasks.values():
            if parent.children:
                below = {tasks[child].status for child in parent.children}
                assert (parent.status == DONE) == (DONE in below and below <= {DONE, Status.SKIPPED})


@given(st.permutations(range(12)), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_tasks_at_the_top_take_any_order_and_few_of_them_are_moved(order: list[int], ages: list[int]) -> None:
    tasks = [replace(task(f"t{n:02}"), created_at=f"2025-01-01T00:00:0{age}Z") for n, age in enumerate(ages)]
    before = plan_of(*tasks)
    wanted = [WantedTask(one.id, fields_of(one), None) for one in tasks]
    names = [tasks[n].id for n in order]
    after = rewritten(before, wanted, {None: names}, (), NOW)
    assert at_top(after) == " ".join(names)
    assert rewritten(after, wanted, {None: names}, (), NOW) == after
