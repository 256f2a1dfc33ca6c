"""Moving and deleting tasks (PEER.md 2): the tree stays one, and statuses follow in the same write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from git_blackbird.controller.core.guards import require_not_busy, require_not_busy_task
from git_blackbird.controller.core.status_sync import derive_plan, save_plan, supersede_runs
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.cli_hints import decide_run_command
from git_blackbird.model.entities.plan import Plan, Task
from git_blackbird.model.entities.run import SUPERSEDED_BY_DELETE
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.graph import find_new_deadlock, started_dependents, subtree
from git_blackbird.model.rules.plan_edits import TreePosition, deleted, moved, outside_dependents
from git_blackbird.model.rules.reviews import Transition
from git_blackbird.storage.store import Transaction

TOP_OF_PLAN = "/"
_TOP_WORD = "root"
_Change = Callable[[Plan, Transition], Plan]


@dataclass(frozen=True)
class Destination:
    """The destination of a move.

    ``parent`` is an id, ``/`` or ``root`` for the top, ``/ID`` for a task whatever it is called; None is
    where the task stands. ``index`` is that of ``Place``.
    """

    parent: str | None = None
    index: int | None = None


@dataclass(frozen=True)
class MoveResult:
    """The outcome of a move.

    ``followed`` had their status changed by it; ``not_undone`` ran after a parent that has open work again.
    ``recreated`` are the tasks at the top whose time of creation was changed: it is what orders them.
    """

    task_id: TaskId
    place: TreePosition
    is_changed: bool
    followed: Mapping[TaskId, Status] = field(default_factory=dict)
    not_undone: tuple[TaskId, ...] = ()
    deadlock: tuple[TaskId, ...] | None = None
    recreated: tuple[TaskId, ...] = ()


def move_task(workspace: Workspace, task_id: str, destination: Destination) -> MoveResult:
    """Put a task, and all below it, below another parent or at another place among its children.

    Raises RequestError, also while an agent works on the task or the parent.
    """
    workspace.forbid_agents("move tasks")
    with workspace.transaction() as transaction:
        before = transaction.plan()
        task = find_task(before, task_id)
        place = _place(before, task, destination)
        require_not_busy(workspace, task)
        require_not_busy_task(workspace, before, place.parent)
        after = _save(workspace, transaction, lambda plan, moment: moved(plan, task.id, place, moment))
        followed = _followed(before, after)
        return MoveResult(
            task.id,
            _status_of(after, task.id),
            after is not before,
            followed,
            _not_undone(before, followed),
            find_new_deadlock(before, after),
            tuple(root.id for root in after.roots() if root.created_at != before.tasks[root.id].created_at),
        )


def _place(plan: Plan, task: Task, destination: Destination) -> TreePosition:
    named = destination.parent
    if named is None:
        return TreePosition(task.parent, destination.index)
    if named == _TOP_WORD and _TOP_WORD in plan.tasks:
        raise RequestError(
            f'"{_TOP_WORD}" is both the top of the plan and the id of a task',
            hint=f"--parent {TOP_OF_PLAN} is the top, --parent {TOP_OF_PLAN}{_TOP_WORD} the task",
        )
    if named in (TOP_OF_PLAN, _TOP_WORD):
        return TreePosition(None, destination.index)
    return TreePosition(find_task(plan, named.removeprefix(TOP_OF_PLAN)).id, destination.index)


def _status_of(plan: Plan, task_id: TaskId) -> TreePosition:
    parent = plan.tasks[task_id].parent
    beside = [root.id for root in plan.roots()] if parent is None else plan.tasks[parent].children
    return TreePosition(parent, beside.index(task_id))


def _save(workspace: Workspace, transaction: Transaction, change: _Change) -> Plan:
    """Make a change, and what follows from the records for tasks that became leaves, in one write."""
    state = transaction.state()
    moment = workspace.transition(state.histories)
    after = change(state.plan, moment)
    if after is not state.plan:
        after = derive_plan(after, state.histories, moment)[0]
        save_plan(transaction, state, after)
    return after


def _followed(before: Plan, after: Plan) -> dict[TaskId, Status]:
    return {
        task_id: task.status
        for task_id, task in sorted(after.tasks.items())
        if task_id in before.tasks and task.status != before.tasks[task_id].status
    }


def _not_undone(before: Plan, followed: Mapping[TaskId, Status]) -> tuple[TaskId, ...]:
    reopened = [before.tasks[task_id] for task_id in followed if before.tasks[task_id].status == Status.DONE]
    return tuple(
        sorted({dependent.id for task in reopened for dependent in started_dependents(before, task)})
    )


@dataclass(frozen=True)
class DeleteRequest:
    """The options of ``delete``.

    ``cascade_children`` takes all below the task along. ``force`` takes it out of the dependencies of
    others, and drops a decision that is due.
    """

    task_id: str
    cascade_children: bool = False
    force: bool = False


@dataclass(frozen=True)
class DeleteResult:
    """What was deleted: the task first, then those below it.

    ``detached`` depended on them; ``runs`` are their records, which stay; ``dropped`` are those on which a
    decision was due; ``followed`` had their status changed by it.
    """

    task_ids: tuple[TaskId, ...]
    detached: tuple[TaskId, ...]
    runs: Mapping[TaskId, tuple[RunId, ...]]
    dropped: tuple[RunId, ...]
    followed: Mapping[TaskId, Status]


def delete_task(workspace: Workspace, deletion: DeleteRequest) -> DeleteResult:
    """Take a task out of the plan; the records of its runs stay on disk.

    Raises RequestError for what would be lost or broken by it, also while an agent works on it.
    """
    workspace.forbid_agents("delete tasks")
    with workspace.transaction() as transaction:
        before = transaction.plan()
        task = find_task(before, deletion.task_id)
        doomed = [below.id for below in subtree(before, task)]
        dependents = outside_dependents(before, doomed)
        _require_deletable(workspace, before, deletion, doomed)
        if dependents and not deletion.force:
            raise _would_break(dependents)
        records = workspace.store.records
        runs = {task_id: tuple(run.id for run in records.history(task_id).runs) for task_id in doomed}
        dropped = tuple(_dropped(workspace, transaction, doomed))
        after = _save(workspace, transaction, lambda plan, moment: deleted(plan, doomed, moment))
        for task_id in doomed:
            transaction.drop_feedback(task_id)
        return DeleteResult(
            tuple(doomed),
            tuple(sorted({dependent for others in dependents.values() for dependent in others})),
            {task_id: ids for task_id, ids in runs.items() if ids},
            dropped,
            _followed(before, after),
        )


def _dropped(workspace: Workspace, transaction: Transaction, doomed: Sequence[TaskId]) -> Iterator[RunId]:
    """Resolve the decisions due on these tasks, records first: nobody could take them any more."""
    for task_id in doomed:
        run = workspace.store.records.history(task_id).latest
        if run is not None and run.is_pending:
            supersede_runs(workspace, transaction, task_id, SUPERSEDED_BY_DELETE)
            yield run.id


def _require_deletable(
    workspace: Workspace, plan: Plan, deletion: DeleteRequest, doomed: Sequence[TaskId]
) -> None:
    if len(doomed) > 1 and not deletion.cascade_children:
        raise RequestError(
            f'refusing to delete "{doomed[0]}": has children (use --cascade-children)',
            hint=f"this also deletes {', '.join(doomed[1:])}",
        )
    for task_id in doomed:
        require_not_busy(workspace, plan.tasks[task_id])
        run = workspace.store.records.history(task_id).latest
        if run is not None and run.is_pending and not deletion.force:
            raise RequestError(
                f'refusing to delete "{task_id}": a decision on it is due (run {run.id})',
                hint=f"{decide_run_command(run)}\n--force deletes it anyway",
            )


def _would_break(dependents: Mapping[TaskId, tuple[TaskId, ...]]) -> RequestError:
    listed = "; ".join(
        f"{task_id} (dependents: {', '.join(others)})" for task_id, others in dependents.items()
    )
    return RequestError(
        f"refusing to delete: would break dependents ({listed}). Use --force to remove those dep edges",
        hint="nothing was changed",
    )
