"""One review of a parent: a reviewer that changes nothing, held to a schema."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from git_blackbird.agents.process.outcome import ProcessResult
from git_blackbird.controller.change.review.reviewer import (
    ReviewerRequest,
    changed_text,
    classify_answer,
    closed_reading,
    reviewed_worktree,
    run_reviewer,
    tell_edits,
)
from git_blackbird.controller.change.trees import combined_change
from git_blackbird.controller.change.work.finish import ending_of
from git_blackbird.controller.change.work.guard import closing_run, store_config, watch_agent
from git_blackbird.controller.core.status_sync import save_feedback_and_statuses, save_statuses
from git_blackbird.controller.core.ui import warn
from git_blackbird.controller.core.waiting import run_in_thread
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.controller.launch.launch import RunContext, open_run
from git_blackbird.controller.launch.logs import publish_logs
from git_blackbird.controller.place.snapshots import snapshot
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
from git_blackbird.model.base.next_steps import task_command
from git_blackbird.model.plan.graph import subtree
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.rules.reviews import is_complete, latest_verdict, skipped_children, why_incomplete
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.agent_io import AgentResult
from git_blackbird.model.run.parent_verdict import ParentVerdict, completion_signature
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_PLAN, RunStatus, RunType
from git_blackbird.model.views.events import RunEnded
from git_blackbird.storage.store import Transaction


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
    if not is_complete(tasks, parent):
        raise RequestError(
            f"{parent.id} cannot be reviewed: {why_incomplete(tasks, parent)}"
            if parent.children
            else f"{parent.id} has no children; only parents are reviewed"
        )


def _without_skipped(tasks: Mapping[TaskId, Task], parent: Task) -> Task:
    """Return a parent with only the children that a verdict can be about: not the skipped ones."""
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


async def run_review(
    context: RunContext, review_request: ParentReviewRequest, force_stop: asyncio.Event
) -> Run:
    """Carry out one review from its snapshot to its closed record, which is returned.

    Cancelling it stops the reviewer and closes the record as failed. Raises SaveError, SnapshotError,
    AgentUnavailableError or RequestError with nothing left running.
    """
    base = await run_in_thread(lambda: snapshot(context.workspace))
    initial_run = open_run(context, review_request.parent.id, base.tree).updated(
        run_type=RunType.REVIEW,
        context=review_request.context,
        parent_review_completion_signature=review_request.signature,
    )
    children = review_request.context["parentReview"]["children"]
    request = ReviewerRequest(
        initial_run,
        review_request.parent.title,
        render_review_prompt(review_request.context),
        build_review_schema(review_request.judged),
        # The records that the reviewer gets: the first reference of each child that has one.
        tuple(name for child in children for name in child.get("artifactRefs", ())[:1]),
    )
    run, ended = await run_reviewer(
        context, request, lambda run: _save(context.workspace, review_request, run), force_stop
    )
    head_tree = await run_in_thread(lambda: reviewed_worktree(context, run.task_id, run.base_tree))
    if head_tree not in {None, run.base_tree}:
        warn(
            context.ui,
            changed_text(run.task_id),
            run.task_id,
            task_command("runs", run.task_id, f" {run.id} --diff"),
        )
    closed = _close(context.workspace, run, ended, head_tree)
    tell_edits(context, closed)
    context.ui.notify(RunEnded(closed, review_request.parent.title, ended.duration_seconds))
    return closed


def _save(workspace: Workspace, review_request: ParentReviewRequest, run: Run) -> None:
    """Write the record, then the plan, under one lock, if the children are still as they were."""
    store_config(workspace)
    with workspace.transaction() as transaction:
        if (
            present_signature(_plan_below(transaction, review_request.parent.id), review_request.parent)
            != review_request.signature
        ):
            raise StaleReviewError(f"the children of {review_request.parent.id} have changed meanwhile")
        transaction.save_run(run)
        save_statuses(transaction)
        watch_agent(workspace, transaction, run)


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
    if task is None or not is_complete(plan.tasks, task):
        return None
    return completion_signature(task, plan.tasks)


def _close(workspace: Workspace, run: Run, ended: ProcessResult, head_tree: str | None) -> Run:
    """Save the review, then its feedback, then the plan.

    ``head_tree`` is the worktree after a review in it, where the reviewer should have written nothing. A
    verdict on children that have changed meanwhile is kept and counts for nothing.
    """

    def read_verdict(reading: AgentResult) -> ParentVerdict:
        if parent is None:
            raise ValueError("the parent is no longer in the plan")
        return parse_review_answer(reading.final_text, _without_skipped(tasks, parent))

    with closing_run(workspace, run) as (transaction, check):
        transaction.renew_plan_backup()
        plan = _plan_below(transaction, run.task_id)
        tasks = plan.tasks
        parent = tasks.get(run.task_id)
        outcome, verdict = classify_answer(ended, read_verdict)
        now = workspace.environment.timestamp()
        closed = closed_reading(run, ending_of(ended, outcome, now), head_tree, check)
        if verdict is not None:
            closed = closed.finding(verdict)
        moved = parent is None or present_signature(plan, parent) != (run.parent_review_completion_signature)
        if verdict is not None and moved:
            closed = closed.superseded(now, SUPERSEDED_BY_PLAN)
        transaction.save_run(closed)
        if verdict is not None and not moved:
            # The new verdict is the only one that counts.
            for earlier in workspace.store.records.history(closed.task_id).reviews:
                if earlier.id != closed.id and earlier.status is not RunStatus.RUNNING:
                    transaction.save_run(earlier.superseded(now, closed.id))
        save_feedback_and_statuses(transaction, transaction.state())
    publish_logs(workspace, closed)
    return closed
