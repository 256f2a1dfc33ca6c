"""Review a parent: a reviewer that changes nothing, held to a schema."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from git_blackbird.agents.protocol import Agent
from git_blackbird.controller.change.agent_run import open_run
from git_blackbird.controller.change.call import Call
from git_blackbird.controller.change.reading_run import Reading, changed_text, read_twice
from git_blackbird.controller.change.stops import interrupted_stop
from git_blackbird.controller.change.trees import combined_change
from git_blackbird.controller.change.work.starts import Start
from git_blackbird.controller.core.agents import adding_way_out, require_reviewer
from git_blackbird.controller.core.status_sync import save_feedback_and_statuses, save_statuses
from git_blackbird.controller.core.ui import UserInterface, warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.place.snapshots import snapshot
from git_blackbird.controller.place.worktrees import Opened
from git_blackbird.errors import RequestError
from git_blackbird.messages.incoming.review_answer import (
    build_review_schema,
    parse_review_answer,
)
from git_blackbird.messages.outgoing.review_context import (
    ComposedChange,
    ReviewedChild,
    build_review_context,
    render_review_prompt,
)
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import ANOTHER_AGENT, TaskCommand
from git_blackbird.model.plan.graph import subtree
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.queue import Item
from git_blackbird.model.rules.reviews import (
    are_children_over,
    latest_verdict,
    skipped_children,
    why_incomplete,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.ended import Ended
from git_blackbird.model.run.parent_verdict import ParentVerdict, completion_signature
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_PLAN, RunStatus, RunType, TerminalReason
from git_blackbird.model.views.stop import Stop
from git_blackbird.storage.store import Transaction


async def review_parent(call: Call, item: Item) -> Stop | None:
    """Run the review, and stop where it gives no verdict, or one that a person has to act on."""
    parent = item.task
    reviewer = require_reviewer(call.workspace)
    with adding_way_out(call.workspace, ANOTHER_AGENT):
        await call.here.version_of(reviewer)
    await call.require_consent(reviewer, as_reviewer=True)
    try:
        with call.at_work("stopping the review of", parent.id):
            run = await call.interruptible(run_review(call, reviewer, parent, item.state))
    except StaleReviewError as error:
        warn(call.ui, error.message, parent.id)
        return None
    if run is None:
        return interrupted_stop(f"before {parent.id} was reviewed")
    call.empty_starts.note_end(run)
    is_without_work = run.terminal_reason is TerminalReason.WITHOUT_WORK
    if run.terminal_reason is TerminalReason.BUDGET:
        return call.stop_after_run(run)
    if call.goes_on_after(run):
        return None
    if run.parent_review_passed is None:
        call.scope = call.scope._replace(tried=call.scope.tried | {parent.id})
    elif parent.id == call.scope.review:
        call.scope = call.scope._replace(is_reviewed=True)
    if is_without_work:
        call.empty_starts.hold(parent.id, lambda: None)
        return None
    return call.stop_after_run(run)


@dataclass(frozen=True)
class ParentReviewRequest:
    """A parent to review, what its reviewer gets, and the state of its children.

    ``judged`` are the children that are not skipped.
    """

    parent: Task
    context: dict[str, Any]
    signature: str
    judged: tuple[TaskId, ...]


def parent_review_request(
    workspace: Workspace, state: PlanState, parent: Task, *, fault: str | None = None, top: str | None = None
) -> ParentReviewRequest:
    """Return the request for a review; ``fault`` is what was wrong with the previous reviewer's answer.

    ``top`` is the top of the worktree, for a reviewer that does not work there. Raises RequestError when not
    every child is done or skipped.
    """
    tasks = state.plan.tasks
    require_children_done(tasks, parent)
    skipped = [tasks[child] for child in skipped_children(tasks, parent)]
    judged = _without_skipped(tasks, parent).children
    children = [_reviewed_child(workspace, state, tasks[child], top) for child in judged]
    context = build_review_context(parent, children, fault, skipped)
    return ParentReviewRequest(parent, context, completion_signature(parent, tasks), judged)


def require_children_done(tasks: Mapping[TaskId, Task], parent: Task) -> None:
    """Refuse a task that cannot be reviewed as a parent. Raises RequestError."""
    if not are_children_over(tasks, parent):
        raise RequestError(
            f"{parent.id} cannot be reviewed: {why_incomplete(tasks, parent)}"
            if parent.children
            else f"{parent.id} has no children; only parents are reviewed"
        )


def _without_skipped(tasks: Mapping[TaskId, Task], parent: Task) -> Task:
    skipped = skipped_children(tasks, parent)
    return replace(parent, children=tuple(child for child in parent.children if child not in skipped))


def _reviewed_child(workspace: Workspace, state: PlanState, child: Task, top: str | None) -> ReviewedChild:
    history = state.history(child.id)
    if child.children:
        return ReviewedChild(child, latest_verdict(history), top)
    run = history.latest or history.newest
    worked = [earlier for earlier in history.work_runs if earlier.tree_pair is not None]
    if run is None or len(worked) < 2:
        return ReviewedChild(child, run, top)
    # Also those before an approval: the parent is judged by all that was done for it.
    pair, summary = combined_change(workspace, state, run, history.work_runs)
    return ReviewedChild(child, run, top, ComposedChange(pair, summary, len(worked)))


class _ParentReading(Reading[ParentVerdict]):
    """The reviewer of a parent; a verdict on children that have changed meanwhile counts for nothing."""

    def __init__(self, start: Start, run: Run, request: ParentReviewRequest) -> None:
        children = request.context["parentReview"]["children"]
        # The records that the reviewer gets: the first reference of each child that has one.
        records = tuple(name for child in children for name in child.get("artifactRefs", ())[:1])
        super().__init__(start, run, records)
        self._request = request

    def warn_changed(self, ui: UserInterface, run: Run) -> None:
        shows = TaskCommand("runs", run.task_id, f" {run.id} --diff")
        warn(ui, changed_text(run.task_id), run.task_id, shows)

    def begin(self, transaction: Transaction, run: Run) -> None:
        """Save the record, then the plan, if the children are still as they were."""
        parent = self._request.parent
        if present_signature(_plan_below(transaction, parent.id), parent) != self._request.signature:
            raise StaleReviewError(f"the children of {parent.id} have changed meanwhile")
        transaction.save_run(run)
        save_statuses(transaction)

    def parse(self, transaction: Transaction, ended: Ended) -> ParentVerdict:
        """Read the verdict on the children that the parent has now."""
        tasks = _plan_below(transaction, self.run.task_id).tasks
        parent = tasks.get(self.run.task_id)
        if parent is None:
            raise ValueError("the parent is no longer in the plan")
        return parse_review_answer(ended.final_text, _without_skipped(tasks, parent))

    def record(self, transaction: Transaction, closed: Run, answer: ParentVerdict | None) -> Run:
        """Save the review, then its feedback, then the plan."""
        now, parent = closed.completed_at or "", self._request.parent
        signature = present_signature(_plan_below(transaction, parent.id), parent)
        moved = signature != closed.parent_review_completion_signature
        if answer is not None:
            closed = closed.finding(answer)
        if answer is not None and moved:
            closed = closed.superseded(now, SUPERSEDED_BY_PLAN)
        transaction.save_run(closed)
        if answer is not None and not moved:
            # The new verdict is the only one that counts.
            for earlier in transaction.state_of(closed.task_id).history(closed.task_id).reviews:
                if earlier.id != closed.id and earlier.status is not RunStatus.RUNNING:
                    transaction.save_run(earlier.superseded(now, closed.id))
        save_feedback_and_statuses(transaction, transaction.state())
        return closed


async def run_review(call: Call, reviewer: Agent, parent: Task, state: PlanState) -> Run:
    """Carry out one review, and return its closed record; a second try is told why the first gave no verdict.

    Cancelling it stops the reviewer and closes the record as failed. Raises SaveError, SnapshotError,
    AgentUnavailableError or RequestError with nothing left running.
    """
    workspace = call.workspace
    top = None if reviewer.abilities.read_only else str(workspace.repo.top)

    async def reading_for(fault: str | None) -> _ParentReading:
        present = state if fault is None else workspace.plan_state()
        request = await run_in_thread(
            lambda: parent_review_request(workspace, present, parent, fault=fault, top=top)
        )
        base = await run_in_thread(lambda: snapshot(workspace))
        prompt = render_review_prompt(request.context)
        start = Start(parent, reviewer, request.context, prompt, schema=build_review_schema(request.judged))
        version = await call.here.version_of(reviewer)
        run = open_run(workspace, start, RunType.REVIEW, base.tree, version)
        return _ParentReading(
            start, run.updated(parent_review_completion_signature=request.signature), request
        )

    return (await read_twice(call, Opened(workspace), reading_for)).run


class StaleReviewError(RequestError):
    """Someone changed the children between the choice of a review and its start."""


def _plan_below(transaction: Transaction, parent_id: TaskId) -> Plan:
    """Return the plan with the statuses below a parent as its records have them, whatever its file says."""
    plan = transaction.plan()
    parent = plan.tasks.get(parent_id)
    below = () if parent is None else subtree(plan, parent)
    return transaction.state_of(*(task.id for task in below)).plan


def present_signature(plan: Plan, parent: Task) -> str | None:
    """Return the signature of a parent's children now; None if nothing is left to review."""
    task = plan.tasks.get(parent.id)
    if task is None or not are_children_over(plan.tasks, task):
        return None
    return completion_signature(task, plan.tasks)
