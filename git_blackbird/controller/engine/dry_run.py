"""Forecast an execute in which every task succeeds and every review passes."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from git_blackbird.controller.change.stops import budget_stop, execute_again, lost_session_stop
from git_blackbird.controller.change.work.questions import paused_stop
from git_blackbird.controller.core.agents import require_reviewers, starting_agents
from git_blackbird.controller.core.guards import require_ready
from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.controller.engine.stops import parent_review_stop, unreadable_stop
from git_blackbird.controller.launch.ledger import Ledger
from git_blackbird.model.base.ids import PLANNING, TaskId
from git_blackbird.model.change.stages import Due
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.rules.limits import AgentModel
from git_blackbird.model.rules.lint import LintFinding, blocking_findings
from git_blackbird.model.rules.queue import Item, queue
from git_blackbird.model.rules.reviews import ReviewGate, Transition
from git_blackbird.model.rules.scope import CallScope, next_item, review_stops
from git_blackbird.model.rules.spending import BudgetScope
from git_blackbird.model.rules.state import PlanState, is_stopped
from git_blackbird.model.rules.status import PlanProgress, apply_statuses, derive
from git_blackbird.model.run.states import ReviewState
from git_blackbird.model.views.stop import Stop


class DryRun(NamedTuple):
    """What would be started, in order, parents for their review; or how the call would stop at once.

    Before that, the agents of ``requests`` would get their change requests, and the changes of ``changes``
    be reviewed. ``continued`` are the tasks in ``order`` whose interrupted run would be resumed. ``agents``
    are those that tasks would be started or resumed with, with their models.
    """

    order: tuple[Task, ...]
    stop: Stop | None = None
    changes: tuple[Task, ...] = ()
    requests: tuple[Task, ...] = ()
    continued: tuple[Task, ...] = ()
    agents: Mapping[TaskId, AgentModel] = {}

    @property
    def resumed(self) -> tuple[Task, ...]:
        return (*self.requests, *self.continued)

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """What `plan lint` blocks of what would be started: no call refuses it."""
        started = (task for task in self.order if task.is_leaf and task not in self.continued)
        return tuple(blocking_findings(started))

    @property
    def starts(self) -> frozenset[TaskId]:
        return frozenset(task.id for task in self.order if task.is_leaf)

    @property
    def steps(self) -> Iterator[tuple[str, Task]]:
        """What would be done, in order, in words that end before the task."""
        yield from (("resume of ", task) for task in self.requests)
        yield from (("reviews of the change of ", task) for task in self.changes)
        for task in self.order:
            if task in self.continued:
                yield "resume of ", task
            else:
                yield "review of " if task.children else "", task


def forecast(workspace: Workspace, task_ids: Sequence[str], limit: int | None) -> DryRun:
    """Return the order in which an execute would start agents.

    Raises RequestError for a task that is named and not ready, AgentUnavailableError where nobody can review
    the parents, as the execute would.
    """
    state = workspace.plan_state()
    only = frozenset(require_ready(state, find_task(state.plan, task_id)).id for task_id in task_ids)
    call = CallScope(only=only or None, starts_left=limit)
    require_reviewers(workspace, state, call)
    stop = _first_stop(workspace, state, call)
    if stop is not None:
        return DryRun((), stop.with_options(workspace.call_options))
    passing = Transition(workspace.environment.timestamp(), ReviewGate(is_on=False, histories={}))
    ledger = Ledger(workspace)
    items = [one for one in queue(state) if call.may_do(one) and not _is_spent(ledger, one)]
    requests = tuple(item.task for item in items if item.due is Due.REQUEST)
    due = ((task, state.history(task.id).latest) for task in state.plan.leaves() if call.covers(task.id))
    waiting = [(task, run) for task, run in due if run is not None and run.awaits_verdict]
    changes = tuple(
        task for task, run in waiting if workspace.reviews_changes and run.review_state is ReviewState.DUE
    )
    verdicts = (task for task, run in waiting if run.is_check_due or task in changes)
    plan = derive(state.plan, {}, passing.gate)
    plan = apply_statuses(plan, {task.id: Status.DONE for task in (*requests, *verdicts)}, passing)
    order = list(_gated_parents(state, call, _newly_done(state.plan, plan)))
    progress = PlanProgress(plan)
    continued = tuple(item.task for item in items if item.due in _UNFINISHED)
    for resumed in continued:
        order += [resumed, *_gated_parents(state, call, _finish(progress, resumed))]
    starts = 0
    while starts != limit and (task := progress.take_ready()) is not None:
        if call.covers(task.id) and not is_stopped(state, task):
            starts += 1
            order += [task, *_gated_parents(state, call, _finish(progress, task))]
    resumed_by = {
        task.id: AgentModel(run.provider)
        for task in (*requests, *continued)
        if (run := state.history(task.id).latest) is not None
    }
    agents = {**starting_agents(workspace, (task for task in order if task.is_leaf)), **resumed_by}
    return DryRun(tuple(order), unreadable_stop(state, call), changes, requests, continued, agents)


_UNFINISHED = frozenset({Due.ASK_PAUSED, Due.CONTINUE})


def _is_spent(ledger: Ledger, item: Item) -> bool:
    """Whether a run is to go on and no budget is left for its task."""
    return item.due in _UNFINISHED | {Due.REQUEST} and bool(ledger.spent_lines(item.task.id))


def _first_stop(workspace: Workspace, state: PlanState, call: CallScope) -> Stop | None:
    items = [item for item in queue(state) if call.may_do(item)]
    for item in items:
        if item.due is Due.REQUEST and (stop := lost_session_stop(workspace, item)) is not None:
            return stop
    ledger, again = Ledger(workspace), execute_again(sorted(call.only or ()))
    spent = [line for line in ledger.spent_lines(PLANNING) if line.scope is BudgetScope.PLAN]
    if spent:
        return budget_stop(workspace, spent, again)
    if next_item(state, call) is None and (held := review_stops(state, call)):
        return parent_review_stop(state, held)
    for item in items:
        if _is_spent(ledger, item) and item.of_run.is_in_place:
            return budget_stop(workspace, ledger.spent_lines(item.task.id), again)
        if item.due is Due.ASK_PAUSED:
            return paused_stop(state, item.of_run)
        if item.due is Due.CONTINUE and (stop := lost_session_stop(workspace, item)) is not None:
            return stop
    return None


def _gated_parents(state: PlanState, call: CallScope, parents: Sequence[Task]) -> Iterator[Task]:
    return (parent for parent in parents if state.is_gated and call.covers_parent(state.plan, parent))


def _finish(progress: PlanProgress, leaf: Task) -> tuple[Task, ...]:
    """Mark a leaf ``done``; return the parents whose review is due then, nearest first.

    A skipped parent counts as open until its review passed, which reopens those above it.
    """
    parents = progress.finish(leaf)
    if parents and parents[-1].status is Status.SKIPPED:
        return (*parents, *progress.done_above(parents[-1]))
    return parents


def _newly_done(before: Plan, after: Plan) -> list[Task]:
    """Return the parents that became ``done`` as they are reviewed: from the leaves up, smallest id first."""
    done = {
        task.id: task
        for task in after.tasks.values()
        if task.children and task.status == Status.DONE and before.tasks[task.id].status != Status.DONE
    }
    sorter = TopologicalSorter({task.id: done.keys() & task.children for task in done.values()})
    sorter.prepare()
    order: list[Task] = []
    reviewable: list[TaskId] = []
    while sorter.is_active():
        for task_id in sorter.get_ready():
            heapq.heappush(reviewable, task_id)
        next_id = heapq.heappop(reviewable)
        order.append(done[next_id])
        sorter.done(next_id)
    return order
