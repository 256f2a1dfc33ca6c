"""Derive statuses: of a leaf from its runs, of a parent from its children."""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import Moment, moment_of, parse_timestamp
from git_blackbird.model.change.change import Change
from git_blackbird.model.plan.graph import ancestors, is_ready, unmet_deps
from git_blackbird.model.plan.plan import Plan, Task, derived, with_status
from git_blackbird.model.plan.status import IN_HAND, Status
from git_blackbird.model.rules.reviews import (
    GateState,
    ReviewGate,
    Transition,
    are_children_over,
    moved_by_reviews,
    open_children,
)
from git_blackbird.model.run.history import NO_HISTORY, History
from git_blackbird.model.run.parent_verdict import Feedback
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_DELETE, SUPERSEDED_BY_UNAVAILABLE


def derive_leaf(task: Task, history: History) -> Task:
    """Return a leaf with its derived status, or as it is stored if its runs do not determine that.

    An unreadable record might be the latest run, so nothing is derived then. The time is never the clock's:
    whenever it is derived, from whichever state of the plan, it is the same. A start that reached no agent
    leaves it as it was: the verdict on a parent is about its children at their times.
    """
    if (standing := Change.of(history).standing) is not None:
        for vain in history.undelivered_starts:
            if vain.covers(_time_of(task)):
                task = replace(task, updated_at=vain.before.text)
        return derived(task, standing.status, standing.since)
    newest = history.newest
    if newest is None or newest.superseded_by not in _VOID or history.faults or task.status not in IN_HAND:
        return task
    return derived(task, Status.TODO, moment_of(newest.superseded_at))


# The attribute of a history that keeps the task from which nothing else follows by it.
_CONFIRMED = "_confirmed"
# No agent was reached; a deletion was cut off.
_VOID = frozenset({SUPERSEDED_BY_UNAVAILABLE, SUPERSEDED_BY_DELETE})


def derive(
    plan: Plan, histories: Mapping[TaskId, History], gate: ReviewGate, *, only_lasting: bool = False
) -> Plan:
    """Return the plan with every status that follows from the records, or the same object if all do.

    What it shows is a function of the records and of what people wrote into the plan: it repairs statuses
    after a crash, a checkout of an older plan, a manual edit, or a change of the gates. Of some records alone
    only what is certain follows. Where a plan has statuses that last alone (``only_lasting``), parents follow
    children whose status was the same before, too.
    """
    return _Derivation(plan, histories, gate, only_lasting=only_lasting).plan()


class _Derivation:
    """One pass over the plan, from the leaves up.

    ``moments`` is when the records last moved the status of each parent. One is looked at again if a child
    has ``moved``, and may not stay ``done`` if a descendant has left that: ``reopened``.
    """

    def __init__(
        self, plan: Plan, histories: Mapping[TaskId, History], gate: ReviewGate, *, only_lasting: bool
    ) -> None:
        self._before, self._histories, self._gate = plan, histories, gate
        self._only_lasting = only_lasting
        self._tasks = dict(plan.tasks)
        self._changed: list[TaskId] = []
        self._moments: dict[TaskId, Moment] = {}
        self._moved: set[TaskId] = set()
        self._reopened: set[TaskId] = set()

    def plan(self) -> Plan:
        """Derive all tasks that have records, and all parents."""
        tasks = self._tasks
        for task_id, history in self._histories.items():
            task, kept = tasks.get(task_id), vars(history)
            # Of a large plan nearly all tasks are as they were when this history was last gone through.
            if task is None or kept.get(_CONFIRMED) is task:
                continue
            after = task if task.children else derive_leaf(task, history)
            if after is not task:
                self._replace(task, after)
            if history.undelivered_starts:
                self._reopen_in_vain(task, history)
            elif after is task:
                kept[_CONFIRMED] = task
        for parent in reversed(self._before.parents()):
            if (after := self._derive_parent(parent)) is not parent:
                self._replace(parent, after)
        if not self._changed:
            return self._before
        return self._before.restated(self._tasks, _leaves_of(self._before, self._changed))

    def _replace(self, task: Task, after: Task) -> None:
        self._tasks[task.id] = after
        self._changed.append(task.id)
        if task.parent is not None:
            if after.status != task.status:
                self._moved.add(task.parent)
            if _has_left(task, after) or task.status is after.status is Status.DONE:
                # What is done since a later time was not done in between.
                self._reopened.add(task.parent)

    def _reopen_in_vain(self, task: Task, history: History) -> None:
        """Reopen the parent of a task that is done again: it was not while a start of it was under way."""
        above = None if task.parent is None else self._tasks[task.parent]
        standing = Change.of(history).standing
        is_done = standing is not None and standing.status is Status.DONE
        if above is not None and is_done and history.undelivered_starts[0].end > _time_of(above):
            self._reopened.add(above.id)

    def _moment(self, task_id: TaskId) -> Moment | None:
        if self._before.tasks[task_id].children:
            return self._moments.get(task_id)
        history = self._histories.get(task_id)
        standing = None if history is None else Change.of(history).standing
        if history is None or standing is None:
            return None
        # Starts that reached no agent were seen in the parent.
        moments = (standing.since, *(vain.end for vain in history.undelivered_starts))
        return max((at for at in moments if at is not None), default=None)

    def _derive_parent(self, parent: Task) -> Task:
        reviews = self._histories.get(parent.id, NO_HISTORY).recent if self._gate.is_on else ()
        worked = max((at for child in parent.children if (at := self._moment(child))), default=None)
        reviewed = moved_by_reviews(reviews, worked)
        if (at := reviewed.at or worked) is not None:
            self._moments[parent.id] = at
        if reviewed.failed_at is not None and reviewed.failed_at > _time_of(parent):
            self._reopened.add(parent.id)
        is_reopened, is_over = parent.id in self._reopened, are_children_over(self._tasks, parent)
        if is_reopened and parent.parent is not None:
            self._reopened.add(parent.parent)
        status = parent.status
        if is_over or is_reopened or self._only_lasting or parent.id in self._moved:
            status = _parent_status(self._tasks, parent, self._gate, reopened=is_reopened)
        if status != parent.status:
            newest = max(_time_of(self._tasks[child]) for child in parent.children)
            return derived(parent, status, at or newest)
        follows = is_reopened if status is Status.DONE else status in _FROM_CHILDREN
        return derived(parent, status, at) if follows else parent


_LASTING = frozenset({Status.DONE, Status.SKIPPED, Status.BLOCKED})


def with_lasting_statuses(saved: Plan, after: Plan, by_hand: Collection[TaskId] = ()) -> Plan:
    """Return the plan to write where ``saved`` is to become ``after``; ``saved`` itself if nothing lasts.

    A status that passes is derived from the records by everyone who reads them: it leaves the task as it is
    written, its time included, unless a person set it (``by_hand``). A task that is no longer over is
    ``todo`` again.
    """
    changed = [
        written
        for task in after.tasks.values()
        if task.id not in by_hand and (written := _as_written(saved.tasks.get(task.id), task)) is not task
    ]
    plan = after.replaced(*changed) if changed else after
    return saved if plan.tasks == saved.tasks else plan


def _as_written(old: Task | None, task: Task) -> Task:
    if old is None or old is task or task.status in _LASTING:
        return task
    if old.status in _LASTING:
        return replace(task, status=Status.TODO) if task.status is not Status.TODO else task
    if replace(task, status=old.status, updated_at=old.updated_at) == old:
        return old
    return task if task.status is old.status else replace(task, status=old.status)


def _time_of(task: Task) -> Moment:
    return Moment(parse_timestamp(task.updated_at), task.updated_at)


def apply_statuses(plan: Plan, wanted: Mapping[TaskId, Status], moment: Transition) -> Plan:
    """Set statuses and update parents, in one write.

    The gate of a complete parent determines its status. A parent leaves ``done`` only when a descendant does
    in this write, so nothing that the Go program marked done is changed.
    """
    tasks = dict(plan.tasks)
    for task_id, status in wanted.items():
        tasks[task_id] = with_status(tasks[task_id], status, moment.now)
    return plan.restated(_followed(plan, tasks, wanted, moment).tasks, _leaves_of(plan, wanted))


def _leaves_of(plan: Plan, task_ids: Iterable[TaskId]) -> Iterator[TaskId]:
    return (task_id for task_id in task_ids if plan.tasks[task_id].is_leaf)


def _followed(
    before: Plan,
    tasks: dict[TaskId, Task],
    changed: Iterable[TaskId],
    moment: Transition,
    reopened: Iterable[TaskId] = (),
) -> Plan:
    """Update the ancestors of what changed, from the leaves up; ``reopened`` may not stay ``done``."""
    after = Plan(tasks)
    opened = set(reopened)
    for task_id in changed:
        opened |= _opened_above(before, tasks, task_id)
    for parent in list(_parents_bottom_up(after, changed)):
        status = _parent_status(tasks, tasks[parent], moment.gate, reopened=parent in opened)
        tasks[parent] = with_status(tasks[parent], status, moment.now)
        if parent not in opened:  # its ancestors are reopened already
            opened |= _opened_above(before, tasks, parent)
    return after


def _opened_above(before: Plan, tasks: Mapping[TaskId, Task], task_id: TaskId) -> set[TaskId]:
    """Return the ancestors of tasks that have left ``done``, or are to be done after all."""
    old, now = before.tasks.get(task_id), tasks[task_id]
    return {above.id for above in ancestors(Plan(tasks), now)} if old and _has_left(old, now) else set()


def _has_left(old: Task, now: Task) -> bool:
    """Whether a task has left ``done``, or is to be done after all."""
    return old.is_over and now.status not in {old.status, Status.DONE}


def propagate_to_parents(before: Plan, after: Plan, moment: Transition) -> Plan:
    """Update parents in the write that moves tasks below others or removes them.

    An unfinished task reopens its new parents. A parent that lost its last child is a leaf again, without the
    status that came from its children.
    """
    arrived: list[Task] = []
    left: list[Task] = []
    for task in after.tasks.values():
        former = before.tasks.get(task.id)
        if task.parent and (former is None or former.parent != task.parent):
            arrived.append(task)
        if former is not None and not set(former.children).issubset(task.children):
            left.append(task)
    reopened = {above.id for task in arrived if not task.is_over for above in ancestors(after, task)}
    for task in (*left, *(after.tasks[task.parent] for task in arrived if task.parent)):
        if task.children and task.status == Status.DONE and not are_children_over(after.tasks, task):
            # Only skipped children are left of what made it done.
            reopened |= {task.id, *(above.id for above in ancestors(after, task))}
    tasks = dict(after.tasks)
    for task in left:
        if task.is_leaf and task.status in _FROM_CHILDREN:
            tasks[task.id] = with_status(task, Status.TODO, moment.now)
    changed = [task.id for task in arrived] + [
        task.children[0] if task.children else task.id for task in left
    ]
    return _followed(before, tasks, changed, moment, reopened)


def _parents_bottom_up(plan: Plan, changed: Iterable[TaskId]) -> Iterator[TaskId]:
    """Return the ancestors of what changed, each after its own descendants among them."""
    depth: dict[TaskId, int] = {}
    for task_id in changed:
        for height, above in enumerate(ancestors(plan, plan.tasks[task_id])):
            depth[above.id] = max(depth.get(above.id, 0), height)
    yield from sorted(depth, key=lambda task_id: (depth[task_id], task_id))


_FOLLOWING = frozenset({Status.TODO, Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})
_FROM_CHILDREN = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.QUEUED})
_WORKED_ON = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.DONE, Status.FAILED})
# Nothing is derived if a record cannot be read.
_OF_GATE = {
    GateState.OPEN: Status.DONE,
    GateState.REVIEW_DUE: Status.WAITING_USER,
    GateState.REVIEWING: Status.IN_PROGRESS,
    GateState.FAILING: Status.WAITING_USER,
}


def _parent_status(tasks: Mapping[TaskId, Task], parent: Task, gate: ReviewGate, *, reopened: bool) -> Status:
    if are_children_over(tasks, parent):
        stays_done = parent.status == Status.DONE and not reopened and not gate.blocks(tasks, parent)
        if stays_done or gate.allows(tasks, parent):
            return Status.DONE
        stays = Status.WAITING_USER if parent.status == Status.DONE else parent.status
        return _OF_GATE.get(gate.state(tasks, parent), stays)
    if parent.status == Status.DONE:
        return Status.IN_PROGRESS if reopened else Status.DONE
    children = (tasks[child].status for child in parent.children)
    if parent.status in _FOLLOWING and any(status in _WORKED_ON for status in children):
        return Status.IN_PROGRESS
    return parent.status


class PlanProgress:
    """Simulate progress from a plan with derived parent statuses; no review blocks anything.

    Parents follow as in ``apply_statuses`` without gates. A step takes time proportional to its changes, not
    to the plan: thousands of them are simulated at once.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._done = {task.id for task in plan.tasks.values() if task.status == Status.DONE}
        self._open_children = {
            task.id: len(open_children(plan.tasks, task)) for task in plan.tasks.values() if task.children
        }
        self._unmet = {task.id: len(unmet_deps(plan, task)) for task in plan.tasks.values()}
        self._dependents: defaultdict[TaskId, list[TaskId]] = defaultdict(list)
        for task in plan.tasks.values():
            for dep in task.deps:
                self._dependents[dep].append(task.id)
        self._order = [task for _, task in plan.walk()]
        self._places = {task.id: place for place, task in enumerate(self._order)}
        self._ready = [place for place, task in enumerate(self._order) if is_ready(plan, task)]

    def take_ready(self) -> Task | None:
        """Return the first ready leaf in plan order, each once; None if there is none."""
        return self._order[heapq.heappop(self._ready)] if self._ready else None

    def finish(self, leaf: Task) -> tuple[Task, ...]:
        """Mark a leaf ``done``; return the parents that become done with it, nearest first."""
        parents: list[Task] = []
        task: Task | None = leaf
        while task is not None:
            self._note_done(task)
            task = self._completed_parent(task)
            if task is not None:
                parents.append(task)
        return tuple(parents)

    def done_above(self, parent: Task) -> Iterator[Task]:
        """Yield the ancestors that are ``done``, nearest first, up to one that is not."""
        return takewhile(lambda task: task.id in self._done, ancestors(self._plan, parent))

    def _note_done(self, task: Task) -> None:
        self._done.add(task.id)
        for name in self._dependents[task.id]:
            self._unmet[name] -= 1
            dependent = self._plan.tasks[name]
            if not self._unmet[name] and dependent.is_leaf and dependent.status == Status.TODO:
                heapq.heappush(self._ready, self._places[name])

    def _completed_parent(self, task: Task) -> Task | None:
        """Return the parent if it is ``done`` now and was not before."""
        if task.parent is None:
            return None
        if not task.is_over:
            self._open_children[task.parent] -= 1
        is_new = not self._open_children[task.parent] and task.parent not in self._done
        return self._plan.tasks[task.parent] if is_new else None


class StatusChange(NamedTuple):
    """The effects of a status change: the superseded runs, and the task's pending messages.

    ``dependents`` build on the task and are not undone; ``reopened`` parents changed with it. ``let_go`` is
    undelivered feedback of a review that was dropped. ``commits`` has a line for each commit that its hook
    had left to be recorded.
    """

    task_id: TaskId
    status: Status
    overtaken: tuple[Run, ...] = ()
    pending: tuple[str, ...] = ()
    dependents: tuple[TaskId, ...] = ()
    reopened: tuple[TaskId, ...] = ()
    let_go: Feedback | None = None
    commits: tuple[str, ...] = ()
