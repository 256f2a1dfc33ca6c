"""Derive the status of a task from its runs (the table in DESIGN.md 5)."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import History
from git_blackbird.model.entities.plan import Plan, Status, Task, with_status
from git_blackbird.model.entities.run import (
    APPROVALS,
    SUPERSEDED_BY_UNAVAILABLE,
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
)
from git_blackbird.model.plan.graph import ancestors
from git_blackbird.model.rules.review_gate import GateState, ReviewGate, Transition, is_complete

_GATED = frozenset({DecisionState.PENDING, DecisionState.CHANGES_REQUESTED})
_LEFT_BY_GO = frozenset({Status.DONE, Status.FAILED, Status.WAITING_USER, Status.IN_PROGRESS})


def status_of_run(run: Run) -> Status:
    """Return the plan status of a leaf with this latest run."""
    match run.status:
        case RunStatus.RUNNING:
            return Status.IN_PROGRESS
        case RunStatus.PAUSED | RunStatus.WAITING_USER:
            return Status.WAITING_USER
        case RunStatus.FAILED:
            # A person may accept the work of a failed run.
            return Status.DONE if run.decision_state in APPROVALS else Status.FAILED
        case RunStatus.SUCCESS:
            return _status_of_success(run)


def _status_of_success(run: Run) -> Status:
    if run.review_state is ReviewState.DUE:
        return Status.IN_PROGRESS
    if run.decision_state in _GATED:
        return Status.WAITING_USER
    if run.decision_state == DecisionState.REJECTED:
        return Status.FAILED
    return Status.DONE


def determines_status(run: Run, task: Task) -> bool:
    """Whether a record determines its task's status.

    Ours always do. In a repository from the Go program, its plan counts, unless it marked a task done
    although the decision on its run is still pending.
    """
    if run.is_ours:
        return True
    return run.decision_state in _GATED and task.status in _LEFT_BY_GO


def derive_leaf(task: Task, history: History) -> Status:
    """Return the derived status of a leaf, or the stored one if its runs do not determine it.

    An unreadable record might be the latest run, so nothing is derived then.
    """
    if history.faults:
        return task.status
    latest, newest = history.latest, history.newest
    if latest is not None and determines_status(latest, task):
        return status_of_run(latest)
    void = newest is not None and newest.superseded_by == SUPERSEDED_BY_UNAVAILABLE
    return Status.TODO if void and task.status == Status.IN_PROGRESS else task.status


def derive_leaves(plan: Plan, histories: Mapping[TaskId, History]) -> dict[TaskId, Status]:
    """Return the leaves whose stored status differs from the derived one, with that."""
    wanted: dict[TaskId, Status] = {}
    for task_id, history in histories.items():
        task = plan.tasks.get(task_id)
        if task is not None and task.is_leaf:
            status = derive_leaf(task, history)
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
    return _followed(plan, tasks, wanted, moment)


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
    arrived = [
        task for task in after.tasks.values() if task.parent and _former_parent(before, task) != task.parent
    ]
    left = [task for task in after.tasks.values() if _former_children(before, task) - set(task.children)]
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


def _former_parent(before: Plan, task: Task) -> TaskId | None:
    return before.tasks[task.id].parent if task.id in before.tasks else None


def _former_children(before: Plan, task: Task) -> set[TaskId]:
    return set(before.tasks[task.id].children) if task.id in before.tasks else set()


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


def status_follows_children(plan: Plan, task: Task) -> bool:
    """Whether the task is a complete parent, whose status follows from its children."""
    return is_complete(plan.tasks, task)


def apply_gates(plan: Plan, moment: Transition) -> Plan:
    """Return the plan with every complete parent as its gate says, from the leaves up.

    This repairs statuses after a crash, a manual edit of the plan, or a change of the gates.
    """
    if not any(is_complete(plan.tasks, task) for task in plan.tasks.values() if task.children):
        return plan
    tasks = dict(plan.tasks)
    held_back: list[TaskId] = []
    settled = False
    for _, task in reversed(list(plan.walk())):
        if is_complete(tasks, task):
            status = _parent_status(tasks, tasks[task.id], moment.gate, reopened=False)
            if status != task.status:
                tasks[task.id] = with_status(task, status, moment.now)
                settled = True
                if task.status == Status.DONE:
                    held_back.append(task.id)
    return _followed(plan, tasks, held_back, moment) if settled else plan
