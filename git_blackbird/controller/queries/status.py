"""The state of the plan for readers: counts, runs, what is due. Takes no lock and writes nothing."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from git_blackbird.controller.change.land.turns import next_to_land
from git_blackbird.controller.core.guards import processes_at_work
from git_blackbird.controller.core.limits import current_holds
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.queries.budgets import owed_items, read_budgets
from git_blackbird.controller.queries.reviews import BlockedParentView, blocked_parent_views
from git_blackbird.git.hooks.task_commits import list_deferred
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand, task_command
from git_blackbird.model.change.messages import PendingMessages
from git_blackbird.model.change.stages import (
    Due,
    PendingKind,
    Stage,
    due_of,
    is_half_written,
    label_of,
    stage_of,
)
from git_blackbird.model.change.work import undo_commands
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.model.plan.graph import Readiness, dependents, is_ready, readiness
from git_blackbird.model.plan.label import NONE_STOPPED, state_label
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.attention import (
    PendingItem,
    StuckTask,
    paused_runs,
    stuck_tasks,
)
from git_blackbird.model.rules.limits import Hold
from git_blackbird.model.rules.reviews import skipped_children
from git_blackbird.model.rules.spending import BudgetLine
from git_blackbird.model.rules.state import (
    PlanState,
    blocked_tasks,
    full_readiness,
    is_blocked_by_review,
    is_stopped,
    may_start,
    ready_tasks,
)
from git_blackbird.model.run.history import History
from git_blackbird.model.run.provenance import Adoptable, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType
from git_blackbird.storage.locks import approval_in_progress, controller_holder
from git_blackbird.storage.notes import load_pending_approval


class InterruptedApproval(NamedTuple):
    """An interrupted approval; ``command`` finishes it.

    ``commit`` is what HEAD has of it, None where nothing was committed; the index may not follow it, and
    with ``is_recorded`` that is all that is left to do.
    """

    task_id: TaskId
    run_id: RunId
    commit: str | None
    is_recorded: bool
    command: str


def find_interrupted_approval(workspace: Workspace) -> InterruptedApproval | None:
    """Return the approval that is incomplete and that no process is finishing; writes nothing."""
    note = load_pending_approval(workspace.paths)
    if note is None or approval_in_progress(workspace.paths) is not None:
        return None
    from git_blackbird.git.worktree.log import commit_of_run  # hardly ever there is one

    oid = commit_of_run(workspace.repo, note.run_id, note.parent)
    run = workspace.store.records.history(note.task_id).find(note.run_id)
    is_pending = run is not None and run.is_pending
    if oid is None and not is_pending:
        return None
    is_repeated = is_pending and workspace.commits_approvals
    command = task_command("decide", note.task_id, " --approve") if is_repeated else EXECUTE
    return InterruptedApproval(note.task_id, note.run_id, oid, is_recorded=not is_pending, command=command)


_BY_ITSELF = frozenset({Due.CHECK, Due.REVIEW, Due.LAND, Due.FINISH_UNDO})
APPROVING = "approved: its change is being committed"


class LiveRun(NamedTuple):
    """A record that says an agent is at work, and whether its process is there."""

    run: Run
    alive: bool


class StatusReport(NamedTuple):
    """One screen: counts, what runs, what a person owes, what is next, and what is odd.

    ``undeliverable`` is a task whose session is gone, which stops an execute; ``unfinished`` are those whose
    work was broken off, and that come first in one.
    ``to_review`` are runs whose change is yet to be checked or reviewed, or to land, and that nobody reviews
    now; ``turns`` are the tasks of those whose landing waits, each with the one that lands before;
    ``failed`` leaves have their latest run. ``hints`` are commands that get tasks on
    which wait for a skipped one. ``approving`` is a decision that is taken, and whose change is being
    committed: nobody may decide otherwise meanwhile. ``stopped`` are the tasks that records stop which cannot
    be read, ``unreadable`` all such records. ``drift`` is what the plan says and what the records say, where
    that differs; readers only report it, and not while a call is at work, which corrects it.
    ``cluster_address`` is the scheduler that calls use here, if any. ``unblocked`` counts the tasks that wait
    for each task alone. ``limits`` are those that agents are at.
    """

    counts: Mapping[Status, int]
    leaves: int
    parents: int
    locked_by: str | None
    running: tuple[LiveRun, ...]
    pending: tuple[PendingItem, ...]
    approving: PendingItem | None
    unreviewed: tuple[BlockedParentView, ...]
    stops_at_review: bool
    undeliverable: TaskId | None
    unfinished: tuple[TaskId, ...]
    to_review: tuple[tuple[Task, Run], ...]
    turns: Mapping[TaskId, TaskId]
    ready: tuple[Task, ...]
    failed: tuple[tuple[Task, Run | None], ...]
    stuck: tuple[StuckTask, ...]
    stopped: Mapping[Task, tuple[RecordError, ...]]
    blocked: Mapping[TaskId, tuple[TaskId, ...]]
    skipped: tuple[TaskId, ...]
    hints: tuple[str, ...]
    drift: Mapping[TaskId, tuple[Status, Status]]
    unreadable: tuple[RecordError, ...]
    adoptable: tuple[Adoptable, ...]
    orphaned: tuple[Run, ...]
    problems: tuple[ConfigProblem, ...]
    interrupted_approval: InterruptedApproval | None
    deferred: tuple[str, ...]
    cluster_address: str | None
    unblocked: Mapping[TaskId, int]
    limits: tuple[Hold, ...]
    budgets: tuple[BudgetLine, ...] = ()


def build_overview(workspace: Workspace, state: PlanState | None = None) -> StatusReport:
    """Build the status report; the state is read if it is not given."""
    state = state or workspace.plan_state()
    plan, leaves = state.plan, state.plan.leaves()
    budgets = tuple(read_budgets(workspace, state))
    owed = owed_items(state, budgets)
    approving, waits = _approving(workspace, owed), blocked_tasks(state)
    hints = [hint for task_id in sorted(waits) for hint in readiness(plan, plan.tasks[task_id]).hints]
    skipped = {dep for deps in waits.values() for dep in deps if plan.tasks[dep].status == Status.SKIPPED}
    holder, running = controller_holder(workspace.paths), _running(workspace, state)
    asked, odd = {one.task.id for one in owed}, sorted(state.open_histories.items())
    return StatusReport(
        counts=Counter(task.status for task in leaves),
        leaves=len(leaves),
        parents=len(plan.tasks) - len(leaves),
        locked_by=holder,
        running=running,
        pending=tuple(one for one in owed if one is not approving),
        approving=approving,
        unreviewed=blocked_parent_views(state),
        stops_at_review=is_blocked_by_review(state),
        undeliverable=next((one.task.id for one in owed if _stops_execute(one)), None),
        unfinished=tuple(_unfinished(state, () if holder is not None else running)),
        to_review=tuple(_due_reviews(state, running)),
        turns=dict(_turns(workspace, state)),
        ready=ready_tasks(state),
        failed=tuple((task, state.latest(task.id)) for task in _failed(state) if task.id not in asked),
        stuck=stuck_tasks(state),
        stopped={plan.tasks[task_id]: faults for task_id, faults in state.unreadable.items()},
        blocked=waits,
        skipped=tuple(sorted(skipped)),
        hints=tuple(dict.fromkeys(hints)),
        drift={} if holder is not None else _lasting_drift(workspace, state),
        unreadable=(
            *(fault for _, history in odd for fault in history.faults),
            *state.lost_feedback,
        ),
        adoptable=workspace.store.unanswered(state),
        orphaned=_orphaned(state),
        problems=workspace.settings.problems,
        interrupted_approval=find_interrupted_approval(workspace),
        deferred=list_deferred(os.fspath(workspace.paths.private)),
        cluster_address=workspace.config.cluster.address,
        unblocked=state.unblocked,
        budgets=budgets,
        limits=tuple(current_holds(workspace, state).values()),
    )


def _lasting_drift(workspace: Workspace, state: PlanState) -> Mapping[TaskId, tuple[Status, Status]]:
    """Return where plan and records differ, unless that is only since one is written before the other."""
    if not state.drift:
        return {}
    again = workspace.plan_state().drift
    return {task_id: differ for task_id, differ in state.drift.items() if again.get(task_id) == differ}


def _approving(workspace: Workspace, owed: Iterable[PendingItem]) -> PendingItem | None:
    run_id = approval_in_progress(workspace.paths)
    decisions = (one for one in owed if one.kind is PendingKind.DECISION)
    return next((one for one in decisions if one.run_id == run_id), None)


def _orphaned(state: PlanState) -> tuple[Run, ...]:
    """Runs of tasks that are not in this plan, with a decision due, which blocks nothing, or half written."""
    latest = map(state.latest, sorted(state.open_histories.keys() - state.plan.tasks.keys()))
    return tuple(run for run in latest if run is not None and (run.is_pending or is_half_written(run)))


def _stops_execute(owed: PendingItem) -> bool:
    """Whether a request or half-done work waits for a lost session, so that an execute starts nothing."""
    is_question = owed.run is not None and owed.run.status is RunStatus.WAITING_USER
    return owed.kind is PendingKind.NEW_SESSION and not is_question


def _failed(state: PlanState) -> Iterator[Task]:
    """Return the failed tasks whose records can be read."""
    failed = (task for task in state.plan.leaves() if task.status == Status.FAILED)
    return (task for task in failed if task.id not in state.unreadable)


def why_failed(run: Run | None) -> str | None:
    """Return why a task failed, as far as its latest run says."""
    if run is None:
        return None
    return run.error if stage_of(run) is Stage.FAILED else label_of(run)


def _running(workspace: Workspace, state: PlanState) -> tuple[LiveRun, ...]:
    runs: list[Run] = []
    for task_id, history in sorted(state.open_histories.items()):
        # Reviews are read only of a change that is under review.
        reviews = workspace.store.records.reviews(task_id).runs if history.is_under_review else ()
        runs += [run for run in (*history.recent, *reviews) if run.status == RunStatus.RUNNING]
    return tuple(LiveRun(run, bool(run.is_remote or processes_at_work(workspace.paths, run))) for run in runs)


def _unfinished(state: PlanState, abandoned: Sequence[LiveRun]) -> Iterator[TaskId]:
    """Yield the tasks whose work was interrupted, including those that recovery has yet to record."""
    yield from (task.id for task, _ in paused_runs(state))
    for run in (one.run for one in abandoned if one.run.run_type is RunType.EXECUTE):
        if run.provider_session_ref is not None and run.task_id in state.plan.tasks:
            yield run.task_id


def _turns(workspace: Workspace, state: PlanState) -> Iterator[tuple[TaskId, TaskId]]:
    for task, run in state.due(Due.LAND):
        if (first := next_to_land(workspace, state, run)) is not None:
            yield task.id, first


def _to_review(state: PlanState, task: Task) -> Run | None:
    run = state.latest(task.id)
    return run if run is not None and _is_next(run) else None


def _is_next(run: Run) -> bool:
    """Whether the next execute does something about the change of a run, without a person."""
    return due_of(run) in _BY_ITSELF


def _due_reviews(state: PlanState, running: Iterable[LiveRun]) -> Iterator[tuple[Task, Run]]:
    busy = {one.run.task_id for one in running if one.alive}
    due = {task.id: run for task, run in state.open_runs if _is_next(run)}
    yield from ((task, due[task.id]) for task in state.plan.leaves() if task.id in due.keys() - busy)


def stopped_tasks(state: PlanState) -> frozenset[TaskId]:
    """Return the ready tasks stopped by an unusable record, of their own or of a dependency."""
    if not state.unreadable:
        return NONE_STOPPED
    leaves = state.plan.leaves()
    return frozenset(task.id for task in leaves if is_ready(state.plan, task) and is_stopped(state, task))


class Filter(NamedTuple):
    """Which tasks ``list`` shows; ``text`` is to be in the id or title, in any letter case."""

    everything: bool = False
    only_ready: bool = False
    only_blocked: bool = False
    status: Status | None = None
    text: str = ""
    stopped: frozenset[TaskId] = NONE_STOPPED

    def admits(self, plan: Plan, task: Task) -> bool:
        """Whether the list shows this task."""
        if self.text and self.text.casefold() not in f"{task.id} {task.title}".casefold():
            return False
        if self.status is not None:
            return task.status == self.status
        if self.only_ready:
            return state_label(plan, task, self.stopped) == "READY"
        if self.only_blocked:
            return task.is_leaf and state_label(plan, task, self.stopped) == "BLOCKED"
        return self.everything or (task.is_leaf and not task.is_over)


def tree_of_tasks(plan: Plan, wanted: Filter) -> list[tuple[int, Task]]:
    """Return the tasks of a tree with their depth; parents of what is shown are shown too."""
    rows = list(plan.walk())
    if wanted._replace(stopped=NONE_STOPPED) == Filter(everything=True):
        return rows
    shown = {task.id for _, task in rows if wanted.admits(plan, task)}
    for _, task in reversed(rows):
        if task.parent is not None and task.id in shown:
            shown.add(task.parent)
    return rows if len(shown) == len(rows) else [(depth, task) for depth, task in rows if task.id in shown]


class TaskView(NamedTuple):
    """One task with everything that follows for it.

    ``owed`` is what waits for a person's command, ``words`` what the task must still hear, ``unreviewed``
    how a parent waits for its review, ``to_review`` the run whose change is yet to be checked or reviewed, or
    to land,
    ``unreadable`` what cannot be read of all that is recorded of it,
    ``skipped`` the children that nobody does, ``undo`` how a rejected change is taken back;
    ``adoptable`` is what another program or clone did of it; ``stuck`` is why nothing would get it on.
    """

    task: Task
    label: str
    readiness: Readiness
    dependents: tuple[Task, ...]
    deps: tuple[Task, ...]
    history: History
    pending: PendingItem | None
    words: PendingMessages
    unreviewed: BlockedParentView | None = None
    to_review: Run | None = None
    unreadable: tuple[RecordError, ...] = ()
    skipped: tuple[TaskId, ...] = ()
    undo: tuple[TaskCommand, ...] = ()
    adoptable: tuple[Adoptable, ...] = ()
    stuck: StuckTask | None = None
    labels: Mapping[TaskId, str] = MappingProxyType({})
    """Of the tasks that it depends on, and that depend on it."""

    @property
    def state_text(self) -> str:
        """The label of the task, with what its newest change says beyond that."""
        run = self.history.latest
        more = "" if run is None else label_of(run).removeprefix("failed: ")
        return self.label if not more or more == self.label.lower() else f"{self.label}: {more}"


def view_task(workspace: Workspace, task_id: str) -> TaskView:
    """Show one task: whether it is ready and why, and what is pending for it.

    Raises RequestError for an unknown id.
    """
    state = workspace.plan_state_of(task_id)
    task = find_task(state.plan, task_id)
    owed = owed_items(state, read_budgets(workspace, state))
    view = view_in(state, task, owed, blocked_parent_views(state))
    path = str(workspace.paths.feedback_file(task.id))
    return view._replace(
        unreadable=(*view.unreadable, *(one for one in state.lost_feedback if one.path == path)),
        undo=() if view.history.newest is None else undo_commands(view.history.newest),
        adoptable=workspace.store.unanswered(state, task.id),
        stuck=next((one for one in stuck_tasks(state) if one.task.id == task.id), None),
    )


def view_in(
    state: PlanState, task: Task, owed: Iterable[PendingItem], unreviewed: Iterable[BlockedParentView]
) -> TaskView:
    """Build the view of one task from a state; ``owed`` and ``unreviewed`` are those of all tasks."""
    plan, history = state.plan, state.history(task.id)
    after, before = dependents(plan, task.id), tuple(plan.tasks[dep] for dep in task.deps)
    return TaskView(
        task,
        state_label(plan, task) if not is_ready(plan, task) or may_start(state, task) else "BLOCKED",
        full_readiness(state, task),
        after,
        before,
        history,
        next((one for one in owed if one.task.id == task.id), None),
        state.pending_messages(task.id),
        next((one for one in unreviewed if one.task.id == task.id), None),
        _to_review(state, task),
        history.faults,
        skipped_children(plan.tasks, task),
        labels={other.id: state_label(plan, other) for other in (*before, *after)},
    )
