"""The reviews of parents and of changes, as interfaces show them. Takes no lock, writes nothing."""

from enum import StrEnum
from typing import NamedTuple

from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.next_steps import EXECUTE, dismiss_command, restart_command, task_command
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.attention import is_resumable, resume_command
from git_blackbird.model.rules.reviews import (
    ChangeReviewView,
    GateState,
    OutstandingFeedback,
    ReviewView,
    current_review,
    is_complete,
    latest_verdict,
    merged_or_none,
    open_children,
    reviews_about,
    skipped_children,
)
from git_blackbird.model.rules.state import (
    BlockedParent,
    ParentReviewStatus,
    PlanState,
    blocked_parents,
    feedback_below,
    unreadable_below,
)
from git_blackbird.model.run.parent_verdict import completion_signature, excerpt
from git_blackbird.model.run.states import RunStatus, RunType


class ReviewBlock(StrEnum):
    """What a complete parent waits for."""

    REVIEW_DUE = "review_due"
    FAILING = "review_failing"
    NO_VERDICT = "review_without_verdict"


REVIEW_WORDS = {
    ReviewBlock.REVIEW_DUE: "parent review pending",
    ReviewBlock.FAILING: "its review failed",
    ReviewBlock.NO_VERDICT: "its review gave no verdict",
}


class BlockedParentView(NamedTuple):
    """A parent that only its review keeps from being ``done``, and the commands that get it on.

    ``skipped`` are the children that it is complete without.
    """

    task: Task
    wait: ReviewBlock
    status: ParentReviewStatus
    commands: tuple[str, ...]
    skipped: tuple[TaskId, ...] = ()

    @property
    def why(self) -> str:
        """What the review found, or why it found nothing; "" if unknown."""
        return (self.status.feedback if self.wait is ReviewBlock.FAILING else self.status.fault) or ""


def blocked_parent_views(state: PlanState) -> tuple[BlockedParentView, ...]:
    """Return every parent that waits for its review, smallest id first; none that is under review now."""
    return tuple(
        _blocked_view(state, one)
        for one in blocked_parents(state)
        if state.gate.state(state.plan.tasks, one.task) is not GateState.REVIEWING
    )


def _blocked_view(state: PlanState, one: BlockedParent) -> BlockedParentView:
    held, parent = parent_review_status(state, one), one.task
    if one.review is not None:
        wait = ReviewBlock.FAILING
    else:
        wait = ReviewBlock.REVIEW_DUE if held.run_id is None else ReviewBlock.NO_VERDICT
    leaves = feedback_below(state, parent)
    first = task_command("resume --all", parent.id) if one.review is not None or leaves else EXECUTE
    if leaves and not any(is_resumable(state, leaf) for leaf in leaves):
        first = restart_command(leaves[0].id)
    dismiss = () if wait is ReviewBlock.REVIEW_DUE else (dismiss_command(parent.id),)
    skipped = skipped_children(state.plan.tasks, parent)
    return BlockedParentView(parent, wait, held, (first, *dismiss), skipped)


def parent_review_status(state: PlanState, one: BlockedParent) -> ParentReviewStatus:
    """Return what blocks a parent: a failing verdict, or none from any reviewer."""
    if one.review is not None:
        return ParentReviewStatus(
            one.task.id,
            one.review.id,
            one.review.parent_review_resume_task_ids,
            excerpt(one.review.parent_review_feedback or ""),
        )
    if broken := unreadable_below(state, one.task):
        named = ", ".join(leaf.id for leaf in broken)
        return ParentReviewStatus(one.task.id, None, fault=f"records of {named} cannot be used")
    if owing := feedback_below(state, one.task):
        named = ", ".join(leaf.id for leaf in owing)
        return ParentReviewStatus(one.task.id, None, fault=f"{named} must first act on open review feedback")
    signature = completion_signature(one.task, state.plan.tasks)
    reviews = state.history(one.task.id).reviews
    tries = [run for run in reviews if run.parent_review_completion_signature == signature]
    if tries:
        return ParentReviewStatus(
            one.task.id, tries[-1].id, fault=excerpt(tries[-1].error or "it gave no verdict")
        )
    why = "its children have changed since its last review" if reviews else "it has not been reviewed yet"
    return ParentReviewStatus(one.task.id, None, fault=why)


def view_review(workspace: Workspace, parent_id: str) -> ReviewView:
    """Return the state of a parent's review. Raises RequestError for what is no parent."""
    state = workspace.plan_state()
    parent = find_parent(state, parent_id)
    tasks, history = state.plan.tasks, state.history(parent.id)
    said = latest_verdict(history)
    complete = is_complete(tasks, parent)
    later = history.reviews if said is None else history.reviews[history.reviews.index(said) + 1 :]
    return ReviewView(
        parent,
        state.gate.state(tasks, parent) if complete else None,
        open_children(tasks, parent),
        said,
        complete and said is not None and current_review(tasks, parent, history) is said,
        tuple(run for run in later if run.status is not RunStatus.RUNNING),
        tuple(
            OutstandingFeedback(
                leaf := tasks[task_id],
                feedback,
                resume_command(state, leaf),
                is_resumable=is_resumable(state, leaf),
            )
            for task_id, feedback in sorted(state.feedback.items())
            if feedback.parent_task_id == parent.id
        ),
        tuple(run for run in history.runs if run.run_type is RunType.REVIEW),
        skipped_children(tasks, parent),
    )


def view_change_review(workspace: Workspace, task: Task) -> ChangeReviewView:
    """Return the state of the reviews of a leaf's change."""
    history = workspace.store.records.history(task.id)
    reviews = workspace.store.records.reviews(task.id)
    run = history.latest or history.newest
    return ChangeReviewView(
        task,
        run,
        None if run is None else merged_or_none(run),
        () if run is None else reviews_about(reviews.runs, run),
        tuple(one for one in history.work_runs if one.merged_review is not None),
        workspace.config.reviews.max_iterations,
        workspace.reviews_changes,
        tuple(dict.fromkeys((*history.faults, *reviews.faults))),
    )


def find_parent(state: PlanState, parent_id: str) -> Task:
    """Return the parent of that id. Raises RequestError for what is no parent."""
    parent = find_task(state.plan, parent_id)
    if not parent.children:
        raise RequestError(
            f"{parent.id} has no children; only parents are reviewed",
            hint=task_command("runs", parent.id, remark="what its agent did"),
        )
    return parent
