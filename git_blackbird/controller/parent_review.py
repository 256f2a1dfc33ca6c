"""One review of a parent: a reviewer that changes nothing, held to a schema (spec 0, spec 3, DESIGN.md 8)."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from git_blackbird.agents.runner import Ended
from git_blackbird.controller.blocking import run_in_thread
from git_blackbird.controller.checkpoints import change_of
from git_blackbird.controller.closing import ending_fields
from git_blackbird.controller.conduct import Crew, cut_logs, open_run
from git_blackbird.controller.config_guard import check_config, forget_config, remember_config
from git_blackbird.controller.plan_guard import check_plan
from git_blackbird.controller.review_files import finish_reviews
from git_blackbird.controller.reviewers import (
    Errand,
    judge_answer,
    look_again,
    send_reviewer,
)
from git_blackbird.controller.snapshots import snapshot
from git_blackbird.controller.statuses import save_statuses
from git_blackbird.controller.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.git.refs import save_run_ref
from git_blackbird.messages.review_answer import parse_review_answer
from git_blackbird.messages.review_context import (
    ComposedChange,
    ReviewedChild,
    build_review_context,
    render_review_prompt,
)
from git_blackbird.messages.review_schema import build_review_schema
from git_blackbird.model.events import Notice, RunEnded, Weight
from git_blackbird.model.gate import is_complete, last_word, open_children
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Plan, Task
from git_blackbird.model.review import Verdict, completion_signature
from git_blackbird.model.run import OVERTAKEN_BY_PLAN, Run, RunStatus, RunType
from git_blackbird.storage.store import Image, Transaction


@dataclass(frozen=True)
class ReviewOrder:
    """A parent to be reviewed, what its reviewer is told, and the state of the children that it is about."""

    parent: Task
    context: dict[str, Any]
    signature: str


def order_review(
    workspace: Workspace, image: Image, parent: Task, *, fault: str | None = None, top: str | None = None
) -> ReviewOrder:
    """Order a review; ``fault`` is what was wrong with the answer of the reviewer before.

    ``top`` is the top of the worktree, for a reviewer that does not work there. Raises RequestError when not
    every child is done.
    """
    tasks = image.plan.tasks
    require_children_done(tasks, parent)
    children = [_reviewed(workspace, image, tasks[child], top) for child in parent.children]
    context = build_review_context(parent, children, fault)
    return ReviewOrder(parent, context, completion_signature(parent, tasks))


def require_children_done(tasks: Mapping[TaskId, Task], parent: Task) -> None:
    """Refuse a task that cannot be reviewed as a parent. Raises RequestError."""
    if not is_complete(tasks, parent):
        open_ones = open_children(tasks, parent)
        raise RequestError(
            f"{parent.id} cannot be reviewed: not done: {', '.join(open_ones)}"
            if parent.children
            else f"{parent.id} has no children; only parents are reviewed"
        )


def _reviewed(workspace: Workspace, image: Image, child: Task, top: str | None) -> ReviewedChild:
    history = image.history(child.id)
    if child.children:
        return ReviewedChild(child, last_word(history), top)
    run = history.latest or history.newest
    worked = [one for one in history.own if one.leg is not None]
    if run is None or len(worked) < 2:
        return ReviewedChild(child, run, top)
    # Also those before an approval: the parent is judged by all that was done for it.
    pair, summary = change_of(workspace, image, run, history.own)
    return ReviewedChild(child, run, top, ComposedChange(pair, summary, len(worked)))


async def run_review(crew: Crew, order: ReviewOrder, hurry: asyncio.Event) -> Run:
    """Carry out one review from its snapshot to its closed record, which is returned.

    Cancelling it stops the reviewer and closes the record as failed. Raises SaveError, SnapshotError,
    AgentUnavailableError or RequestError with nothing left running.
    """
    base = await run_in_thread(lambda: snapshot(crew.workspace))
    opening = open_run(crew, order.parent.id, base.tree).with_fields(
        run_type=RunType.REVIEW,
        context=order.context,
        parent_review_completion_signature=order.signature,
    )
    errand = Errand(
        opening,
        order.parent.title,
        render_review_prompt(order.context),
        build_review_schema(order.parent.children),
        _referenced_records(order.context),
    )
    run, ended = await send_reviewer(crew, errand, lambda run: _save(crew.workspace, order, run), hurry)
    head_tree = await run_in_thread(lambda: look_again(crew, run))
    closed = close_review(crew.workspace, run, ended, head_tree)
    for change in closed.plan_changes:
        text = f"the plan changed during the review: {change}"
        crew.face.notify(Notice(Weight.INFO, text, task_id=closed.task_id))
    for change in closed.config_changes:
        text = f"the configuration changed during the review: {change}"
        crew.face.notify(Notice(Weight.WARNING, text, task_id=closed.task_id))
    crew.face.notify(RunEnded(closed, order.parent.title, ended.duration_seconds))
    return closed


def _referenced_records(context: dict[str, Any]) -> tuple[str, ...]:
    """Name the records that the reviewer is told of: the first reference of each child that has any."""
    children = context["parentReview"]["children"]
    return tuple(name for child in children for name in child.get("artifactRefs", ())[:1])


def _save(workspace: Workspace, order: ReviewOrder, run: Run) -> None:
    """Write the record, then the plan, under one lock, if the children are still as they were."""
    if run.base_tree is not None:
        save_run_ref(workspace.repo, run.id, run.base_tree, run.base_tree)
    remember_config(workspace)
    with workspace.transaction() as transaction:
        if present_signature(transaction.plan(), order.parent) != order.signature:
            raise ReviewMovedError(f"the children of {order.parent.id} have changed meanwhile")
        transaction.save_run(run)
        save_statuses(workspace, transaction)
        transaction.begin_watch(run)
        transaction.remember_plan()


class ReviewMovedError(RequestError):
    """Someone changed the children between the choice of a review and its start."""


def present_signature(plan: Plan, parent: Task) -> str | None:
    """Name the state of a parent's children now; None when there is nothing to review any more."""
    task = plan.tasks.get(parent.id)
    if task is None or not is_complete(plan.tasks, task):
        return None
    return completion_signature(task, plan.tasks)


def close_review(workspace: Workspace, run: Run, ended: Ended, head_tree: str | None) -> Run:
    """Save what a reviewer found, then what it leaves owed, then the plan (spec 1, in this order).

    ``head_tree`` is the worktree after a review in it, where the reviewer should have written nothing. A
    verdict on children that have changed meanwhile is kept and counts for nothing. Raises SaveError.
    """
    config = check_config(workspace)
    with workspace.transaction() as transaction:
        check = check_plan(transaction, run.id)
        transaction.forget_plan()
        parent = transaction.plan().tasks.get(run.task_id)
        outcome, verdict = judge_answer(ended, lambda text: _read_verdict(text, parent))
        now = workspace.world.timestamp()
        fields = ending_fields(ended, outcome, now) | _verdict_fields(verdict)
        if head_tree is not None and head_tree != run.base_tree:
            fields["notes"] = (*fields["notes"], "the worktree changed during the review")
        fields["notes"] = (*fields["notes"], *((check.warning,) if check.warning else ()))
        fields["plan_changes"] = check.changes
        fields["config_changes"] = config.changes
        fields["head_tree"] = head_tree or run.base_tree
        closed = run.with_fields(**fields)
        moved = parent is None or present_signature(transaction.plan(), parent) != (
            run.parent_review_completion_signature
        )
        if verdict is not None and moved:
            closed = closed.with_fields(superseded_at=now, superseded_by=OVERTAKEN_BY_PLAN)
        transaction.clear_way(closed)
        transaction.save_run(closed)
        if verdict is not None and not moved:
            _overtake_verdicts(transaction, closed, now)
        finish_reviews(transaction)
        save_statuses(workspace, transaction)
    cut_logs(workspace, closed)
    forget_config(workspace)
    return closed


def _read_verdict(text: str, parent: Task | None) -> Verdict:
    if parent is None:
        raise ValueError("the parent is no longer in the plan")
    return parse_review_answer(text, parent)


def _verdict_fields(verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        return {}
    return {
        "parent_review_passed": verdict.passed,
        "parent_review_resume_task_ids": verdict.resume_task_ids,
        "parent_review_feedback": verdict.feedback or None,
        "parent_review_results": dict(verdict.results),
    }


def _overtake_verdicts(transaction: Transaction, closed: Run, now: str) -> None:
    """Let a new verdict be the only one that counts."""
    for run in transaction.history(closed.task_id).reviews:
        if run.id != closed.id and run.status is not RunStatus.RUNNING:
            transaction.save_run(run.with_fields(superseded_at=now, superseded_by=closed.id))
