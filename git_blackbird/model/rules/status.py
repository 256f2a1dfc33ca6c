"""Derive statuses: of a leaf from its runs, of a parent from its children."""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import History, open_histories
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Plan, Task, with_status
from git_blackbird.model.entities.run import SUPERSEDED_BY_UNAVAILABLE, Run
from git_blackbird.model.entities.status import Status
from git_blackbird.model.plan.graph import ancestors, is_ready, unmet_deps
from git_blackbird.model.rules.reviews import GateState, ReviewGate, Transition, is_complete, open_children


def derive_leaf(task: Task, history: History) -> Status:
    """Return the derived status of a leaf, or the stored one if its runs do not determine it.

    An unreadable record might be the latest run, so nothing is derived then.
    """
    if history.faults:
        return task.status
    latest, newest = history.latest, history.newest
    if latest is not None:
        return latest.task_status
    void = newest is not None and newest.superseded_by == SUPERSEDED_BY_UNAVAILABLE
    return Status.TODO if void and task.status == Status.IN_PROGRESS else task.status


def derive_leaves(plan: Plan, histories: Mapping[TaskId, History]) -> dict[TaskId, Status]:
    """Return the leaves whose stored status differs from the derived one, with that."""
    wanted: dict[TaskId, Status] = {}
    # A closed history says that its task is done.
    for task_id in sorted(open_histories(histories).keys() | (plan.unfinished & histories.keys())):
        task = plan.tasks.get(task_id)
        if task is not None and task.is_leaf:
            status = derive_leaf(task, histories[task_id])
            if status != task.status:
                wanted[task_id] = status
    return wanted


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
    old, now = before.tasks.get(task_id), tasks[task_id].status
    if old is None or not old.is_over or now in {old.status, Status.DONE}:
        return set()
    return {above.id for above in ancestors(Plan(tasks), tasks[task_id])}


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
        if task.children and task.status == Status.DONE and not is_complete(after.tasks, task):
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
    if is_complete(tasks, parent):
        if parent.status == Status.DONE and not reopened and not gate.blocks(tasks, parent):
            return Status.DONE
        stays = Status.WAITING_USER if parent.status == Status.DONE else parent.status
        return _OF_GATE.get(gate.state(tasks, parent), stays)
    if parent.status == Status.DONE:
        return Status.IN_PROGRESS if reopened else Status.DONE
    children = (tasks[child].status for child in parent.children)
    if parent.status in _FOLLOWING and any(status in _WORKED_ON for status in children):
        return Status.IN_PROGRESS
    return parent.status


def apply_gates(plan: Plan, moment: Transition) -> Plan:
    """Return the plan with every complete parent as its gate says, from the leaves up.

    This repairs statuses after a crash, a manual edit of the plan, or a change of the gates.
    """
    parents = plan.parents()
    if not any(is_complete(plan.tasks, task) for task in parents):
        return plan
    tasks = dict(plan.tasks)
    held_back: list[TaskId] = []
    settled = False
    for task in reversed(parents):
        if is_complete(tasks, task):
            status = _parent_status(tasks, tasks[task.id], moment.gate, reopened=False)
            if status != task.status:
                tasks[task.id] = with_status(task, status, moment.now)
                settled = True
                if task.status == Status.DONE:
                    held_back.append(task.id)
    return plan.restated(_followed(plan, tasks, held_back, moment).tasks) if settled else plan


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


@dataclass(frozen=True)
class StatusChange:
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
