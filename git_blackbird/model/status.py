"""The status of a task is derived from its runs (DESIGN.md 5, the table)."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.model.gate import Gate, GateState, Moment, is_complete
from git_blackbird.model.graph import ancestors
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task, with_status
from git_blackbird.model.run import (
    APPROVALS,
    OVERTAKEN_BY_UNAVAILABLE,
    DecisionState,
    ReviewState,
    Run,
    RunStatus,
)

_GATED = frozenset({DecisionState.PENDING, DecisionState.CHANGES_REQUESTED})
_LEFT_BY_GO = frozenset({Status.DONE, Status.FAILED, Status.WAITING_USER, Status.IN_PROGRESS})


def status_of_run(run: Run) -> Status:
    """Give the plan status of a leaf whose latest run this is."""
    match run.status:
        case RunStatus.RUNNING:
            return Status.IN_PROGRESS
        case RunStatus.PAUSED | RunStatus.WAITING_USER:
            return Status.WAITING_USER
        case RunStatus.FAILED:
            # A person may accept what a failed run has done as it is.
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


def speaks(run: Run, task: Task) -> bool:
    """Whether a record decides its task's status.

    Ours always do. In a repository the Go program left, its plan stands, save where it marked a task
    done although the decision on its run is still open: that decision is owed.
    """
    if run.is_ours:
        return True
    return run.decision_state in _GATED and task.status in _LEFT_BY_GO


def derive_leaf(task: Task, history: History) -> Status:
    """Give the status a leaf must have; the stored one where its runs do not say.

    A file among the records that cannot be read might be the latest run, so nothing is derived beside it.
    """
    if history.faults:
        return task.status
    latest, newest = history.latest, history.newest
    if latest is not None and speaks(latest, task):
        return status_of_run(latest)
    void = newest is not None and newest.superseded_by == OVERTAKEN_BY_UNAVAILABLE
    return Status.TODO if void and task.status == Status.IN_PROGRESS else task.status


def derive_leaves(plan: Plan, histories: Mapping[TaskId, History]) -> dict[TaskId, Status]:
    """Give the leaves whose stored status is not what their runs say, with what they say."""
    wanted: dict[TaskId, Status] = {}
    for task_id, history in histories.items():
        task = plan.tasks.get(task_id)
        if task is not None and task.is_leaf:
            status = derive_leaf(task, history)
            if status != task.status:
                wanted[task_id] = status
    return wanted


def apply_statuses(plan: Plan, wanted: Mapping[TaskId, Status], moment: Moment) -> Plan:
    """Set statuses and let the parents follow, all in one write.

    A complete parent is what its gate says. It leaves ``done`` only when something
    below it does in this write, so nothing touches what the Go program marked done.
    """
    tasks = dict(plan.tasks)
    for task_id, status in wanted.items():
        tasks[task_id] = with_status(tasks[task_id], status, moment.now)
    return _followed(plan, tasks, wanted, moment)


def _followed(
    before: Plan,
    tasks: dict[TaskId, Task],
    changed: Iterable[TaskId],
    moment: Moment,
    reopened: Iterable[TaskId] = (),
) -> Plan:
    """Let the ancestors of what changed follow it, from the leaves up; ``reopened`` may not stay ``done``."""
    after = Plan(tasks)
    opened = set(reopened)
    for task_id in changed:
        opened |= _opened_above(before, tasks, task_id)
    for parent in list(_parents_bottom_up(after, changed)):
        status = _parent_status(tasks, tasks[parent], moment.gate, reopened=parent in opened)
        tasks[parent] = with_status(tasks[parent], status, moment.now)
        if parent not in opened:  # what is above an opened one is opened already
            opened |= _opened_above(before, tasks, parent)
    return after


def _opened_above(before: Plan, tasks: Mapping[TaskId, Task], task_id: TaskId) -> set[TaskId]:
    """Ancestors of a task that has left ``done``, or is to be done after all."""
    was, now = before.tasks.get(task_id), tasks[task_id].status
    if was is None or not was.is_over or now in {was.status, Status.DONE}:
        return set()
    return {above.id for above in ancestors(Plan(tasks), tasks[task_id])}


def follow_children(before: Plan, after: Plan, moment: Moment) -> Plan:
    """Let parents follow, in the write that puts tasks below others or takes them away.

    A task that is still to be done reopens the parents that it comes under. A parent that lost its last child
    is a leaf again; what was said of it because of its children holds no longer.
    """
    arrived = [
        task for task in after.tasks.values() if task.parent and _former_parent(before, task) != task.parent
    ]
    left = [task for task in after.tasks.values() if _former_children(before, task) - set(task.children)]
    reopened = {above.id for task in arrived if not task.is_over for above in ancestors(after, task)}
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
    """Ancestors of what changed, each after all of its own descendants among them."""
    depth: dict[TaskId, int] = {}
    for task_id in changed:
        for height, above in enumerate(ancestors(plan, plan.tasks[task_id])):
            depth[above.id] = max(depth.get(above.id, 0), height)
    yield from sorted(depth, key=lambda task_id: (depth[task_id], task_id))


_FOLLOWING = frozenset({Status.TODO, Status.QUEUED, Status.IN_PROGRESS, Status.WAITING_USER})
_FROM_CHILDREN = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.QUEUED})
_WORKED_ON = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.DONE, Status.FAILED})
# Beside a record that cannot be read nothing is derived.
_OF_GATE = {
    GateState.OPEN: Status.DONE,
    GateState.OWED: Status.WAITING_USER,
    GateState.REVIEWING: Status.IN_PROGRESS,
    GateState.FAILING: Status.WAITING_USER,
}


def _parent_status(tasks: Mapping[TaskId, Task], parent: Task, gate: Gate, *, reopened: bool) -> Status:
    if is_complete(tasks, parent):
        if parent.status == Status.DONE and not reopened and not gate.holds_back(tasks, parent):
            return Status.DONE
        stays = Status.WAITING_USER if parent.status == Status.DONE else parent.status
        return _OF_GATE.get(gate.state(tasks, parent), stays)
    if parent.status == Status.DONE:
        return Status.IN_PROGRESS if reopened else Status.DONE
    children = (tasks[child].status for child in parent.children)
    if parent.status in _FOLLOWING and any(status in _WORKED_ON for status in children):
        return Status.IN_PROGRESS
    return parent.status


def follows_done_children(plan: Plan, task: Task) -> bool:
    """Whether the task is a parent whose status follows from its children, since it is complete."""
    return is_complete(plan.tasks, task)


def settled_parents(plan: Plan, moment: Moment) -> Plan:
    """Give the plan with every complete parent as its gate says, from the leaves up.

    Derives again what a crash left behind, a hand that edited the plan, or a gate that was switched.
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
