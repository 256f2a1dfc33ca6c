"""The plan as its records have it is the same from whichever earlier state of it that is derived."""

import itertools
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.timestamps import format_timestamp
from git_blackbird.model.change.stages import following
from git_blackbird.model.plan.plan import Plan, Task, revised
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import ReviewGate, Transition, are_children_over
from git_blackbird.model.rules.status import apply_statuses, derive, with_lasting_statuses
from git_blackbird.model.run.history import History
from git_blackbird.model.run.parent_verdict import Dismissal, completion_signature
from git_blackbird.model.run.parts import Moving, Undone
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import (
    SUPERSEDED_BY_PLAN,
    SUPERSEDED_BY_RETRY,
    SUPERSEDED_BY_STATUS,
    DecisionState,
    ReviewState,
    RunStatus,
    RunType,
    Verb,
)
from git_blackbird.model.run.summary import Trees
from tests.model.building import tree
from tests.support import examples

TREES = Trees("0" * 40, "1" * 40)
ABOVE = {"p": "g", "c": "g", "a": "p", "b": "p"}
LEAVES, PARENTS = [TaskId(name) for name in "abc"], [TaskId(name) for name in "pg"]
DEAD = frozenset({RunStatus.FAILED, RunStatus.SUCCESS, RunStatus.WAITING_USER, RunStatus.PAUSED})


class World:
    """Records as commands leave them, and each plan that was saved since a person last edited it.

    ``lasting`` is the plan into which only statuses that last are written.
    """

    def __init__(self, *, is_gated: bool) -> None:
        self.plan = self.lasting = tree(dict.fromkeys("gpcab", Status.TODO), ABOVE)
        self.saved: list[Plan] = [self.plan]
        self._is_gated = is_gated
        self._records: dict[TaskId, dict[RunId, Run]] = {name: {} for name in (*LEAVES, *PARENTS)}
        self._ticks = itertools.count(1_800_000_000_000_000_000, 1_000_000_007)

    def derived(self, plan: Plan, *names: TaskId) -> Plan:
        """Derive it by all records, or by those of parents and of some leaves alone."""
        return self._derived(plan, names)

    def derived_again(self, *names: TaskId) -> Plan:
        """Derive the plan into which only statuses that last are written."""
        return self._derived(self.lasting, names, only_lasting=True)

    def _derived(self, plan: Plan, names: tuple[TaskId, ...], *, only_lasting: bool = False) -> Plan:
        known = {*PARENTS, *names} if names else self._records.keys()
        histories = {name: History(tuple(self._records[name].values())) for name in sorted(known)}
        return derive(plan, histories, ReviewGate(self._is_gated, histories), only_lasting=only_lasting)

    def save(self, task_id: TaskId | None) -> None:
        """Save the plan after the records of a task; None: after a kill, all that is behind."""
        names = () if task_id is None else (task_id,)
        self.plan = self.derived(self.plan, *names)
        self.lasting = with_lasting_statuses(self.lasting, self.derived_again(*names))
        self.saved.append(self.plan)

    def now(self) -> str:
        return format_timestamp(next(self._ticks))

    def _put(self, run: Run) -> None:
        stored = self._records[run.task_id].get(run.id)
        self._records[run.task_id][run.id] = following(run, stored, self.now)

    def _change(self, run: Run, **fields: object) -> None:
        self._put(run.updated(**fields))

    def _latest(self, task_id: TaskId) -> Run | None:
        return History(tuple(self._records[task_id].values())).latest

    def _start(self, task_id: TaskId, **fields: object) -> None:
        now = self.now()
        number = int(format(len(self._records[task_id]), "d"))
        known = {"id": f"{number:016x}", "taskId": task_id, "startedAt": now, "status": RunStatus.RUNNING}
        self._put(Run.model_validate({**known, **fields}))

    def _supersede(self, task_id: TaskId, by: str) -> None:
        for run in list(self._records[task_id].values()):
            if run.counts:
                self._put(run.superseded(self.now(), by))

    def start(self, leaf: TaskId) -> None:
        self._supersede(leaf, "f" * 16)
        self._start(leaf)

    def void(self, leaf: TaskId) -> None:
        """Resume it without reaching an agent."""
        latest = self._latest(leaf)
        if latest is not None and latest.status in DEAD:
            self._start(leaf, task_since=self.derived(self.plan).tasks[leaf].updated_at)
            self.save(leaf)
            begun = list(self._records[leaf].values())[-1]
            self._put(begun.superseded(self.now(), "session-lost"))

    def end(self, leaf: TaskId, status: RunStatus) -> None:
        latest = self._latest(leaf)
        if latest is not None and latest.status is RunStatus.RUNNING:
            due = ReviewState.DUE if status is RunStatus.SUCCESS else None
            self._change(latest, status=status, completed_at=self.now(), review_state=due)

    def review_change(self, leaf: TaskId, *, is_asked: bool) -> None:
        latest = self._latest(leaf)
        if latest is not None and latest.review_state is ReviewState.DUE:
            reviewed = latest.updated(review_state=ReviewState.DONE)
            self._put(reviewed.awaiting_decision(self.now()) if is_asked else reviewed)

    def decide(self, leaf: TaskId, state: DecisionState) -> None:
        latest = self._latest(leaf)
        if latest is not None and latest.status in {RunStatus.SUCCESS, RunStatus.FAILED}:
            self._change(latest, decision_state=state, decision_resolved_at=self.now())

    def take_back(self, leaf: TaskId, *, is_redo: bool) -> None:
        latest = self._latest(leaf)
        if latest is not None and latest.status is RunStatus.SUCCESS and latest.review_state is None:
            begun = latest.updated(moving=Moving(verb=Verb.REDO if is_redo else Verb.UNDO, trees=TREES))
            self._put(begun)
            undone = None if is_redo else Undone(at=self.now(), trees=TREES)
            self._put(begun.updated(moving=None, undone=undone))

    def start_review(self, parent: TaskId) -> None:
        now = self.derived(self.plan)
        if are_children_over(now.tasks, now.tasks[parent]):
            signature = completion_signature(now.tasks[parent], now.tasks)
            self._start(parent, run_type=RunType.REVIEW, parent_review_completion_signature=signature)

    def end_review(self, parent: TaskId, passes: bool | None) -> None:  # a verdict
        for run in list(self._records[parent].values()):
            if run.status is not RunStatus.RUNNING:
                continue
            closed = run.updated(
                status=RunStatus.SUCCESS, completed_at=self.now(), parent_review_passed=passes
            )
            tasks = self.derived(self.plan).tasks
            present = completion_signature(tasks[parent], tasks)
            if run.parent_review_completion_signature != present:
                closed = closed.superseded(self.now(), SUPERSEDED_BY_PLAN)
            elif passes is not None:
                for earlier in list(self._records[parent].values()):
                    if earlier.id != run.id and earlier.superseded_at is None:
                        self._put(earlier.superseded(self.now(), run.id))
            self._put(closed)

    def dismiss(self, parent: TaskId) -> None:
        for run in list(self._records[parent].values()):
            if run.parent_review_passed is False and run.superseded_at is None:
                dismissal = Dismissal(reason="good enough", at=self.now())
                self._put(run.updated(dismissed=dismissal))

    def edit(self, leaf: TaskId) -> None:
        now = self.now()

        def edited(plan: Plan) -> Plan:
            return plan.replaced(revised(replace(plan.tasks[leaf], title="Another"), now))

        self._edited(edited(self.plan), edited(self.derived_again()))

    def set_status(self, leaf: TaskId, status: Status, by: str) -> None:
        self.save(None)
        self._supersede(leaf, by)
        moment = Transition(self.now(), ReviewGate(self._is_gated, {}))
        plan, other = (
            apply_statuses(one, {leaf: status}, moment) for one in (self.plan, self.derived_again())
        )
        self._edited(plan, other, by_hand=(leaf,))

    def _edited(self, plan: Plan, other: Plan, by_hand: tuple[TaskId, ...] = ()) -> None:
        self.plan = plan
        self.lasting = with_lasting_statuses(self.lasting, other, by_hand)
        self.saved.clear()


def run_task(world: World, leaf: TaskId) -> None:
    world.start(leaf)
    world.save(leaf)
    world.end(leaf, RunStatus.SUCCESS)
    world.review_change(leaf, is_asked=False)


def run_all(world: World, _: TaskId) -> None:
    for leaf in LEAVES:
        run_task(world, leaf)
        world.save(leaf)


def review(world: World, parent: TaskId) -> None:
    world.start_review(parent)
    world.save(None)
    world.end_review(parent, passes=True)


def what_lasts(plan: Plan) -> list[tuple[TaskId, Status | Task]]:
    """Return what is the same where statuses that pass are not written.

    A parent that is not over may wait for children that were begun and are ``todo`` again, and what is not
    over has no time that anything depends on.
    """
    return [
        (task.id, task if task.is_over else task.status)
        for task in plan.tasks.values()
        if task.is_leaf or task.is_over
    ]


Happening = Callable[[World, TaskId], None]

WORK: dict[str, Happening] = {
    "run": run_task,
    "start": World.start,
    "start in vain": World.void,
    "succeed": lambda world, leaf: world.end(leaf, RunStatus.SUCCESS),
    "fail": lambda world, leaf: world.end(leaf, RunStatus.FAILED),
    "pause": lambda world, leaf: world.end(leaf, RunStatus.PAUSED),
    "reviewed": lambda world, leaf: world.review_change(leaf, is_asked=False),
    "ask": lambda world, leaf: world.review_change(leaf, is_asked=True),
    "approve": lambda world, leaf: world.decide(leaf, DecisionState.APPROVED_CONTINUE),
    "reject": lambda world, leaf: world.decide(leaf, DecisionState.REJECTED),
    "undo": lambda world, leaf: world.take_back(leaf, is_redo=False),
    "redo": lambda world, leaf: world.take_back(leaf, is_redo=True),
    "edit": World.edit,
    "retry": lambda world, leaf: world.set_status(leaf, Status.TODO, SUPERSEDED_BY_RETRY),
    "set done": lambda world, leaf: world.set_status(leaf, Status.DONE, f"{SUPERSEDED_BY_STATUS}done"),
}
REVIEWS: dict[str, Happening] = {
    "run all": run_all,
    "review": review,
    "start review": World.start_review,
    "pass": lambda world, parent: world.end_review(parent, passes=True),
    "flag": lambda world, parent: world.end_review(parent, passes=False),
    "no verdict": lambda world, parent: world.end_review(parent, passes=None),
    "dismiss": World.dismiss,
}
HAPPENS = WORK | REVIEWS
EVENTS = st.tuples(st.sampled_from(list(WORK)), st.sampled_from(LEAVES)) | st.tuples(
    st.sampled_from(list(REVIEWS)), st.sampled_from(PARENTS)
)
SAVED = st.sampled_from(["task", "all", "killed"])


@given(st.booleans(), st.lists(st.tuples(EVENTS, SAVED), max_size=25))
@settings(max_examples=examples(600), deadline=None)
def test_an_older_plan_is_derived_to_the_same_tasks(
    is_gated: bool,  # drawn
    events: list[tuple[tuple[str, TaskId], str]],
) -> None:
    world = World(is_gated=is_gated)
    for (event, name), saved in events:
        HAPPENS[event](world, name)
        if saved != "killed":
            world.save(name if saved == "task" and name in LEAVES else None)
    world.save(None)
    assert world.derived(world.plan) is world.plan
    assert what_lasts(world.derived_again()) == what_lasts(world.plan)
    for older in world.saved:
        assert world.derived(older).tasks == world.plan.tasks
        partly = older
        for leaf in (LEAVES[1], LEAVES[0], LEAVES[2]):
            partly = world.derived(partly, leaf)
        assert world.derived(partly).tasks == world.plan.tasks
