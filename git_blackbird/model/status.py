"""The status of a task is derived from its runs (DESIGN.md 5, the table)."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.model.graph import ancestors, depth_first
from git_blackbird.model.history import History
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Status, Task, with_status
from git_blackbird.model.run import OVERTAKEN_BY_UNAVAILABLE, DecisionState, Run, RunStatus

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
            return Status.FAILED
        case RunStatus.SUCCESS:
            return _status_of_success(run)


def _status_of_success(run: Run) -> Status:
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


def apply_statuses(plan: Plan, wanted: Mapping[TaskId, Status], now: str) -> Plan:
    """Set statuses and let the parents follow, all in one write.

    A parent is done when every child is; it leaves ``done`` only when one of its leaves does in this
    write, so nothing touches what the Go program marked done.
    """
    reopened = {
        above.id
        for task_id, status in wanted.items()
        if plan.tasks[task_id].status == Status.DONE != status
        for above in ancestors(plan, plan.tasks[task_id])
    }
    tasks = dict(plan.tasks)
    for task_id, status in wanted.items():
        tasks[task_id] = with_status(tasks[task_id], status, now)
    for parent in _parents_bottom_up(plan, wanted):
        status = _parent_status(tasks, tasks[parent], reopened=parent in reopened)
        tasks[parent] = with_status(tasks[parent], status, now)
    return Plan(tasks)


def follow_children(before: Plan, after: Plan, now: str) -> Plan:
    """Let parents follow, in the write that puts tasks below others or takes them away.

    A task that is not ``done`` reopens the parents that it comes under. A parent that lost its last child is
    a leaf again; what was said of it because of its children holds no longer.
    """
    arrived = [
        task for task in after.tasks.values() if task.parent and _former_parent(before, task) != task.parent
    ]
    left = [task for task in after.tasks.values() if _former_children(before, task) - set(task.children)]
    reopened = {
        above.id for task in arrived if task.status != Status.DONE for above in ancestors(after, task)
    }
    tasks = dict(after.tasks)
    for task in left:
        if task.is_leaf and task.status in _FROM_CHILDREN:
            tasks[task.id] = with_status(task, Status.TODO, now)
    changed = [task.id for task in arrived] + [
        task.children[0] if task.children else task.id for task in left
    ]
    for parent in _parents_bottom_up(after, changed):
        status = _parent_status(tasks, tasks[parent], reopened=parent in reopened)
        tasks[parent] = with_status(tasks[parent], status, now)
    return Plan(tasks)


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


_FOLLOWING = frozenset({Status.TODO, Status.QUEUED, Status.IN_PROGRESS})
_FROM_CHILDREN = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.QUEUED})
_WORKED_ON = frozenset({Status.IN_PROGRESS, Status.WAITING_USER, Status.DONE, Status.FAILED})


def _parent_status(tasks: Mapping[TaskId, Task], parent: Task, *, reopened: bool) -> Status:
    children = [tasks[child].status for child in parent.children]
    if all(status == Status.DONE for status in children):
        return Status.DONE
    if parent.status == Status.DONE:
        return Status.IN_PROGRESS if reopened else Status.DONE
    if parent.status in _FOLLOWING and any(status in _WORKED_ON for status in children):
        return Status.IN_PROGRESS
    return parent.status


def follows_done_children(plan: Plan, task: Task) -> bool:
    """Whether the task is a parent that is ``done`` because all of its children are."""
    return bool(task.children) and all(plan.tasks[child].status == Status.DONE for child in task.children)


def settled_parents(plan: Plan, now: str) -> Plan:
    """Give the plan with every parent ``done`` whose children all are, from the leaves up.

    Derives again what a crash left behind, or a hand that edited the plan.
    """
    tasks = dict(plan.tasks)
    for _, task in reversed(list(depth_first(plan))):
        if task.children and all(tasks[child].status == Status.DONE for child in task.children):
            tasks[task.id] = with_status(task, Status.DONE, now)
    settled = any(tasks[task_id] is not task for task_id, task in plan.tasks.items())
    return Plan(tasks) if settled else plan
