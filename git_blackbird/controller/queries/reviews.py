"""The reviews of parents and of changes, as interfaces show them. Takes no lock, writes nothing."""

from git_blackbird.controller.core.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.base.next_steps import TaskCommand
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.rules.queue import is_resumable, resume_command
from git_blackbird.model.rules.reviews import (
    ChangeReviewView,
    OutstandingFeedback,
    ReviewView,
    are_children_over,
    current_review,
    latest_verdict,
    merged_or_none,
    open_children,
    reviews_about,
    skipped_children,
)
from git_blackbird.model.rules.state import PlanState
from git_blackbird.model.run.states import RunStatus, RunType


def view_review(workspace: Workspace, parent_id: str) -> ReviewView:
    """Return the state of a parent's review. Raises RequestError for what is no parent."""
    state = workspace.plan_state()
    parent = find_parent(state, parent_id)
    tasks, history = state.plan.tasks, state.history(parent.id)
    said = latest_verdict(history)
    complete = are_children_over(tasks, parent)
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
            hint=TaskCommand("runs", parent.id, remark="what its agent did"),
        )
    return parent
