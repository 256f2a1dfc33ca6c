"""The state of one worktree at one moment: unusable records, ready tasks, parents blocked by a review."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.change import Change, open_histories
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.change.stages import Due, due_of, is_half_written, is_open
from git_blackbird.model.plan.graph import (
    Readiness,
    count_unblocked,
    is_ready,
    readiness,
    subtree,
    subtree_leaves,
    unmet_deps,
)
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.reviews import (
    GateState,
    ReviewGate,
    are_children_over,
    current_review,
    outstanding_feedback,
)
from git_blackbird.model.rules.status import derive, with_lasting_statuses
from git_blackbird.model.run.history import (
    NO_FEEDBACK,
    NO_HISTORY,
    UNREADABLE,
    History,
    RecordError,
    SavedFeedback,
)
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run


class PlanRules(NamedTuple):
    """What the configuration says about a plan.

    ``is_gated``: parents are reviewed. ``only_lasting``: only statuses that last are written.
    """

    is_gated: bool = False
    only_lasting: bool = False


NO_RULES = PlanRules()


@dataclass(frozen=True)
class PlanState:
    """Plan, records and feedback files as they were read, the rules for them, and what follows.

    ``plan`` is the one that everyone is shown and acts on, with the statuses that follow from the records;
    ``saved`` may be behind it. From ``open_histories`` more follows than that a task is done: of a large plan
    the few. Of the feedback files of ``lost_feedback`` none can be used, and what a verdict has as well is
    written anew. ``unreadable`` are the tasks of the plan that are blocked by a record or feedback file that
    cannot be used. ``open_runs`` are those of the latest runs whose change is not over, apart from what a
    person asks for; ``due`` has the latest runs by what is due about them. Both are smallest task id first.
    The change of ``half_written`` runs is half in the worktree, and is yet to be written, whatever plan has
    them; ``begun`` are these, and those where a person is to decide on what is there in part.
    """

    saved: Plan
    histories: Mapping[TaskId, History]
    saved_feedback: SavedFeedback = NO_FEEDBACK
    is_gated: bool = False
    only_lasting: bool = False
    gate: ReviewGate = field(init=False, compare=False)
    plan: Plan = field(init=False, compare=False)
    open_histories: Mapping[TaskId, History] = field(init=False, compare=False)
    lost_feedback: tuple[RecordError, ...] = field(init=False, compare=False)
    unreadable: Mapping[TaskId, tuple[RecordError, ...]] = field(init=False, compare=False)
    open_runs: tuple[tuple[Task, Run], ...] = field(init=False, compare=False)
    due: Mapping[Due, Sequence[tuple[Task, Run]]] = field(init=False, compare=False)
    half_written: tuple[Run, ...] = field(init=False, compare=False)
    begun: tuple[Run, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        histories, saved = self.histories, self.saved_feedback
        object.__setattr__(self, "gate", ReviewGate(self.is_gated, histories))
        plan = self.derived(self.saved)
        object.__setattr__(self, "plan", plan)
        lost = tuple(fault for fault in saved.faults if _leaf_of(fault) not in self.feedback)
        unfinished = open_histories(histories)
        faults = {task_id: history.faults for task_id, history in unfinished.items() if history.faults}
        for fault in lost:
            leaf = TaskId(PurePath(fault.path).stem)
            faults[leaf] = (*histories.get(leaf, NO_HISTORY).faults, fault)
        latest = {
            task_id: history.latest for task_id, history in unfinished.items() if history.latest is not None
        }
        readable = sorted((latest.keys() - faults.keys()) & plan.tasks.keys())
        recent = (run for history in unfinished.values() for run in history.recent)
        half_written = [run for run in recent if is_half_written(run)]
        half_written.sort(key=lambda run: run.sort_key)
        waiting = (run for run in latest.values() if run.moving and run.is_pending)
        open_runs = tuple((plan.tasks[key], latest[key]) for key in readable if is_open(latest[key]))
        due: dict[Due, list[tuple[Task, Run]]] = {kind: [] for kind in Due}
        for key in readable:
            if (kind := due_of(latest[key])) is not None:
                due[kind].append((plan.tasks[key], latest[key]))
        derived = {
            "open_histories": unfinished,
            "lost_feedback": lost,
            "unreadable": {task_id: faults[task_id] for task_id in sorted(plan.tasks.keys() & faults.keys())},
            "open_runs": open_runs,
            "due": due,
            "half_written": tuple(half_written),
            "begun": (*half_written, *waiting),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def derived(self, plan: Plan) -> Plan:
        """Return a plan that this one becomes, with the statuses that follow from the records."""
        return derive(plan, self.histories, self.gate, only_lasting=self.only_lasting)

    def written(self, after: Plan, by_hand: Collection[TaskId] = ()) -> Plan:
        """Return what is written of a plan that this becomes; a person set the statuses ``by_hand``."""
        return with_lasting_statuses(self.saved, after, by_hand) if self.only_lasting else after

    @cached_property
    def feedback(self) -> Mapping[TaskId, Feedback]:
        damaged = {_leaf_of(fault) for fault in self.saved_feedback.faults}
        return outstanding_feedback(self.plan, self.histories, self.saved_feedback.by_leaf, damaged)

    @cached_property
    def drift(self) -> Mapping[TaskId, tuple[Status, Status]]:
        """The saved and derived status of the tasks whose saved one is to be another, smallest id first."""
        before, after = self.saved.tasks, self.written(self.plan).tasks
        differing = (key for key in before if after[key] is not before[key])
        return {
            key: (before[key].status, self.plan.tasks[key].status)
            for key in sorted(differing)
            if after[key].status != before[key].status
        }

    @cached_property
    def latest_runs(self) -> tuple[tuple[Task, Run], ...]:
        """The latest run of each task that no record blocks, smallest id first."""
        readable = (self.histories.keys() - self.unreadable.keys()) & self.plan.tasks.keys()
        latest = ((task_id, self.histories[task_id].latest) for task_id in sorted(readable))
        return tuple((self.plan.tasks[task_id], run) for task_id, run in latest if run is not None)

    @cached_property
    def held_parents(self) -> tuple[tuple[Task, Run | None], ...]:
        """The parents that only their review keeps from being ``done``, each with the verdict that fails it.

        None of them is an ancestor of another: a parent is complete only when everything below it is done.
        """
        return tuple(
            (task, current_review(self.plan.tasks, task, self.history(task.id)))
            for task in self.plan.parents()
            if are_children_over(self.plan.tasks, task)
            if task.status != Status.DONE and task.id not in self.unreadable
            if self.gate.state(self.plan.tasks, task) is not GateState.OPEN
        )

    @cached_property
    def owing(self) -> frozenset[TaskId]:
        """The leaves with review feedback that a person is to have sent, where parents are reviewed."""
        return frozenset(leaf.id for leaf in leaves_with_feedback(self)) if self.is_gated else frozenset()

    @cached_property
    def unblocked(self) -> Mapping[TaskId, int]:
        """For each task that others wait for alone, their number."""
        return count_unblocked(self.plan, self.feedback.keys())

    def history(self, task_id: TaskId) -> History:
        return self.histories.get(task_id, NO_HISTORY)

    def pending_messages(self, task_id: TaskId) -> PendingMessages:
        return Change.of(self.history(task_id)).messages(self.feedback.get(task_id))


def _leaf_of(fault: RecordError) -> TaskId | None:
    """Return the leaf of a feedback file; None if its name does not tell."""
    path = PurePath(fault.path)
    return TaskId(path.stem) if path.suffix == ".json" else None


def unreadable_below(state: PlanState, parent: Task) -> list[Task]:
    """Return the blocked tasks at or below a task, for which nothing may be concluded."""
    return [task for task in subtree(state.plan, parent) if task.id in state.unreadable]


def waits_for(state: PlanState, task: Task) -> tuple[TaskId, ...]:
    """Return the dependencies that are not reliably ``done``."""
    waits = frozenset(unmet_deps(state.plan, task))
    return tuple(dep for dep in task.deps if dep in waits or _is_unreliable(state, dep))


def _is_unreliable(state: PlanState, dep: TaskId) -> bool:
    return bool(state.unreadable) and bool(unreadable_below(state, state.plan.tasks[dep]))


def is_stopped(state: PlanState, task: Task) -> bool:
    """Whether a record blocks a task or one that it depends on."""
    return task.id in state.unreadable or any(_is_unreliable(state, dep) for dep in task.deps)


def may_start(state: PlanState, task: Task) -> bool:
    return is_ready(state.plan, task) and not is_stopped(state, task)


def ready_tasks(state: PlanState) -> tuple[Task, ...]:
    """Return every task that may start, in plan order."""
    return tuple(task for task in state.plan.unfinished_leaves() if may_start(state, task))


def blocked_tasks(state: PlanState) -> dict[TaskId, tuple[TaskId, ...]]:
    """Return the dependencies that each waiting ``todo`` leaf waits for."""
    return {
        task.id: waits
        for task in state.plan.unfinished_leaves()
        if task.status == Status.TODO and (waits := waits_for(state, task))
    }


def full_readiness(state: PlanState, task: Task) -> Readiness:
    """Return why a task may not start, including unusable records."""
    unmet = readiness(state.plan, task)
    own = state.unreadable.get(task.id, ())
    reasons = [f"{UNREADABLE}: {fault.path}: {fault.what}" for fault in own]
    hints = [fault.hint for fault in own]
    for dep in task.deps:
        for stopped in unreadable_below(state, state.plan.tasks[dep]) if state.unreadable else ():
            below = "" if stopped.id == dep else f" (of {stopped.id} below it)"
            faults = state.unreadable[stopped.id]
            reasons.append(f"a record of its dependency {dep}{below} cannot be used")
            hints += [fault.hint for fault in faults]
    return Readiness((*unmet.reasons, *reasons), (*unmet.hints, *hints))


# The feedback of a skipped leaf stays pending, and nobody waits for it.
_NOT_OWING = frozenset({Status.TODO, Status.IN_PROGRESS, Status.SKIPPED})


def feedback_below(state: PlanState, parent: Task) -> list[Task]:
    """Return the leaves at or below a task with open review feedback, smallest id first."""
    leaves = (leaf for leaf in subtree_leaves(state.plan, parent) if leaf.id in state.feedback)
    return [leaf for leaf in leaves if leaf.status != Status.SKIPPED]


def leaves_with_feedback(state: PlanState) -> tuple[Task, ...]:
    """Return the leaves with review feedback that only a person can have sent, smallest id first."""
    tasks = (state.plan.tasks[key] for key in sorted(state.feedback.keys() - state.unreadable.keys()))
    return tuple(task for task in tasks if task.status not in _NOT_OWING)
