"""The state of the plan for readers: counts, runs, what is due. Takes no lock and writes nothing."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Annotated, NamedTuple

from git_blackbird.controller.core.guards import current_holds, processes_at_work, spent_before
from git_blackbird.controller.core.workspace import Workspace, lock_holder
from git_blackbird.git.hooks.task_commits import list_deferred
from git_blackbird.messages.display.quantities import counted, raise_command
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, TaskCommand
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.change.stages import BY_ITSELF, AgentOf, Due, is_half_written, is_taken_back
from git_blackbird.model.config.layers import ConfigProblem
from git_blackbird.model.plan.graph import (
    readiness,
)
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import LimitHold
from git_blackbird.model.rules.queue import InterruptedApproval, Item, LiveRun, RunningCall, Seen, queue
from git_blackbird.model.rules.spending import (
    BudgetLine,
    BudgetScope,
    Spent,
    budget_lines,
    spent_in,
    total_of,
)
from git_blackbird.model.rules.state import (
    PlanState,
    blocked_tasks,
    unreadable_below,
)
from git_blackbird.model.run.history import Adoptable, RecordError
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, RunType
from git_blackbird.storage.locks import Holder, approval_in_progress, controller_holder


def find_interrupted_approval(workspace: Workspace) -> InterruptedApproval | None:
    """Return the approval that is incomplete and that no process is finishing; writes nothing."""
    if not os.path.lexists(workspace.paths.pending_approval):
        return None
    from git_blackbird.git.worktree.log import commit_of_run
    from git_blackbird.storage.notes import load_pending_approval

    note = load_pending_approval(workspace.paths)
    if note is None or approval_in_progress(workspace.paths) is not None:
        return None
    oid = commit_of_run(workspace.repo, note.run_id, note.parent)
    run = workspace.store.records.history(note.task_id).find(note.run_id)
    is_pending = run is not None and run.is_pending
    if oid is None and not is_pending:
        return None
    is_repeated = is_pending and workspace.commits_approvals
    command = TaskCommand("decide", note.task_id, " --approve") if is_repeated else EXECUTE
    return InterruptedApproval(note.task_id, note.run_id, oid, is_recorded=not is_pending, command=command)


APPROVING = "approved: its change is being committed"
_COUNTED = (
    (Status.DONE, "done"),
    (Status.IN_PROGRESS, "in progress"),
    (Status.QUEUED, "queued"),
    (Status.WAITING_USER, "waiting"),
    (Status.FAILED, "failed"),
    (Status.BLOCKED, "blocked"),
    (Status.SKIPPED, "skipped"),
)


class Conflict(NamedTuple):
    """Two changes that conflict, or a change and the user's worktree."""

    task_id: Annotated[TaskId, Shown("The task whose change it is.", "task")]
    other: Annotated[TaskId | None, Shown("The other task; null for your worktree.")]
    paths: Annotated[tuple[str, ...], Shown("Where they conflict.")]


class StatusReport(NamedTuple):
    """One screen: counts, what runs, what is due, and what is odd.

    ``due`` is the whole queue. ``stops_at`` names what a plain execute stops at before it starts a task, and
    ``unfinished`` are the tasks whose work was broken off, and that come first in one. ``hints`` are commands
    that get tasks on which wait for a skipped one. ``approving`` is a decision that is taken, and whose
    change is being committed: nobody may decide otherwise meanwhile. ``unreadable`` are all records that
    cannot be read. ``drift`` is what the plan says and what the records say, where that differs; readers only
    report it, and not while a call is at work, which corrects it. ``cluster_address`` is the scheduler that
    calls use here, if any. ``limits`` are those that agents are at.
    """

    counts: Mapping[Status, int]
    leaves: int
    parents: int
    locked_by: Holder | None
    running: tuple[LiveRun, ...]
    due: tuple[Item, ...]
    approving: Item | None
    stops_at: str | None
    unfinished: tuple[TaskId, ...]
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
    limits: tuple[LimitHold, ...]
    budgets: tuple[BudgetLine, ...] = ()

    @property
    def ready(self) -> tuple[Item, ...]:
        return tuple(item for item in self.due if item.due is Due.START)

    @property
    def waiting(self) -> tuple[Item, ...]:
        """What waits for a person: nothing of it does the next execute, or the call at work, by itself."""
        by_call = {Due.FINISH} if self.locked_by is not None else set()
        return tuple(item for item in self.due if item.due not in BY_ITSELF | by_call)

    @property
    def taken_back(self) -> int:
        """How many of the failed tasks have not failed: their change was taken back."""
        return sum(is_taken_back(item.task.status, item.run) for item in self.due)

    @property
    def failed(self) -> int:
        return self.counts[Status.FAILED] - self.taken_back

    @property
    def counts_text(self) -> str:
        """The tasks by status in one line; "" for a plan without tasks."""
        if not self.leaves:
            return ""
        counts = {**self.counts, Status.FAILED: self.failed}
        parts = [f"{counts[status]} {word}" for status, word in _COUNTED if counts.get(status)]
        if self.taken_back:
            parts.append(f"{self.taken_back} taken back")
        if self.counts[Status.TODO]:
            parts.append(f"{self.counts[Status.TODO]} todo ({len(self.ready)} ready)")
        above = f" and {counted(self.parents, 'parent')}" if self.parents else ""
        return f"{counted(self.leaves, 'task')}{above}: {', '.join(parts)}"


def build_overview(workspace: Workspace, state: PlanState | None = None) -> StatusReport:
    """Build the status report; the state is read if it is not given."""
    state = state or workspace.plan_state()
    plan, leaves = state.plan, state.plan.leaves()
    holder, running = controller_holder(workspace.paths), _running(workspace, state)
    budgets, waits = tuple(read_budgets(workspace, state, holder)), blocked_tasks(state)
    hints = [hint for task_id in sorted(waits) for hint in readiness(plan, plan.tasks[task_id]).hints]
    skipped = {dep for deps in waits.values() for dep in deps if plan.tasks[dep].status == Status.SKIPPED}
    approval, odd = find_interrupted_approval(workspace), sorted(state.open_histories.items())
    seen = Seen(
        at_work=frozenset(one.run.task_id for one in running if one.alive),
        unwatched=() if holder is not None else running,
        approval=approval,
        raising=raising_commands(budgets),
        lands_after=dict(_lands_after(workspace, state)),
        call=running_call(holder),
    )
    due = tuple(queue(state, seen))
    # What differs only because one of both is written first is the same by the next read.
    again = workspace.plan_state().drift if holder is None and state.drift else {}
    claimed = approval_in_progress(workspace.paths)
    approving = next((item for item in due if item.due is Due.DECIDE and item.run_id == claimed), None)
    return StatusReport(
        counts=Counter(task.status for task in leaves),
        leaves=len(leaves),
        parents=len(plan.tasks) - len(leaves),
        locked_by=holder,
        running=running,
        due=tuple(item for item in due if item is not approving),
        approving=approving,
        stops_at=_stops_at(state, due),
        unfinished=tuple(item.task.id for item in due if _is_unfinished(item)),
        blocked=waits,
        skipped=tuple(sorted(skipped)),
        hints=tuple(dict.fromkeys(hints)),
        drift={task_id: differ for task_id, differ in state.drift.items() if again.get(task_id) == differ},
        unreadable=(
            *(fault for _, history in odd for fault in history.faults),
            *state.lost_feedback,
        ),
        adoptable=workspace.store.unanswered(state),
        orphaned=_orphaned(state),
        problems=workspace.settings.problems,
        interrupted_approval=approval,
        deferred=list_deferred(os.fspath(workspace.paths.private)),
        cluster_address=workspace.config.cluster.address,
        budgets=budgets,
        limits=tuple(current_holds(workspace, state).values()),
    )


def call_at_work(workspace: Workspace) -> RunningCall | None:
    return running_call(lock_holder(workspace))


def running_call(holder: Holder | None) -> RunningCall | None:
    """Return what the call at work here does."""
    if holder is None:
        return None
    only = holder.does.get("only", ())
    tasks = frozenset(map(TaskId, only)) if isinstance(only, list | tuple) else None
    does = holder.does
    return RunningCall(holder.words, tasks, bool(does.get("starts")), bool(does.get("agents")))


def _orphaned(state: PlanState) -> tuple[Run, ...]:
    """Return runs of tasks outside this plan that are half written or wait for a decision."""
    elsewhere = sorted(state.open_histories.keys() - state.plan.tasks.keys())
    latest = (state.open_histories[task_id].latest for task_id in elsewhere)
    return tuple(run for run in latest if run is not None and (run.is_pending or is_half_written(run)))


def _stops_at(state: PlanState, due: Iterable[Item]) -> str | None:
    """Return at which review, lost session or spent budget a plain execute stops before it starts a task."""
    failing = (item for item in due if item.due is Due.REVIEW_FAILED)
    if state.owing or any(not unreadable_below(state, item.task) for item in failing):
        return "the review"
    # Who was asked is answered in a new session as well.
    stopping = (
        item.task.id
        for item in due
        if (item.is_session_lost and item.due is not Due.ANSWER) or _is_out_of_budget(item)
    )
    return next(stopping, None)


def _is_out_of_budget(item: Item) -> bool:
    """Whether nothing starts beside a task: it goes on in the user's worktree once its budget is raised."""
    is_begun = item.due.agent in {AgentOf.RUN, AgentOf.ANSWER}
    return is_begun and item.task.id in item.seen.raising and item.of_run.is_in_place


def _is_unfinished(item: Item) -> bool:
    """Whether an item is work that was broken off, if recovery has yet to record that."""
    run = item.run
    is_left = run is not None and run.run_type is RunType.EXECUTE and run.provider_session_ref is not None
    return item.due in {Due.ASK_PAUSED, Due.CONTINUE} or (item.due is Due.CLOSE and is_left)


def _running(workspace: Workspace, state: PlanState) -> tuple[LiveRun, ...]:
    runs: list[Run] = []
    for task_id, history in sorted(state.open_histories.items()):
        # Reviews are read only of a change that is under review.
        reviews = workspace.store.records.reviews(task_id).runs if history.is_under_review else ()
        runs += [run for run in (*history.recent, *reviews) if run.status == RunStatus.RUNNING]
    return tuple(LiveRun(run, bool(run.is_remote or processes_at_work(workspace.paths, run))) for run in runs)


def _lands_after(workspace: Workspace, state: PlanState) -> Iterator[tuple[TaskId, TaskId]]:
    if not (landing := state.due[Due.LAND]):
        return
    from git_blackbird.controller.change.land.slots import next_to_land  # knows trees

    for task, run in landing:
        if (first := next_to_land(workspace, state, run)) is not None:
            yield task.id, first


def read_budgets(workspace: Workspace, state: PlanState, holder: Holder | None) -> Iterator[BudgetLine]:
    """Yield the limits for the plan, the call at work, and of tasks those at work or with nothing left.

    What the options of a call set is known to that call alone.
    """
    budget = workspace.config.budget
    yield from budget_lines(BudgetScope.PLAN, budget.plan, partial(spent_before, workspace, None))
    if holder is not None and holder.since:
        find_spent = partial(_spent_since, workspace, parse_timestamp(holder.since))
        yield from budget_lines(BudgetScope.CALL, budget.call, find_spent)
    for task_id, history in sorted(state.open_histories.items()):
        find_spent = partial(spent_before, workspace, task_id)
        lines = budget_lines(BudgetScope.TASK, budget.task, find_spent, task_id)
        yield from (line for line in lines if line.is_spent or history.at_work)


def raising_commands(budgets: Iterable[BudgetLine]) -> Mapping[TaskId | None, str]:
    """Return the command that raises each spent budget, by task; None for that of the plan."""
    spent = [line for line in budgets if line.is_spent and line.scope is not BudgetScope.CALL]
    return {line.task_id: raise_command(line) for line in spent}


def _spent_since(workspace: Workspace, since: int) -> Spent:
    from git_blackbird.controller.config.settings import TICK_NANOSECONDS  # few limit a call

    now = workspace.environment.timestamp()
    found = workspace.store.records.written_since(since - TICK_NANOSECONDS)
    begun = (run for run in found if isinstance(run, Run) and run.sort_key[0] >= since)
    return total_of(spent_in(run, now) for run in begun)
