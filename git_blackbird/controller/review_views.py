"""How the reviews of a parent, or of a leaf's change, stand, for readers. Takes no lock, writes nothing."""

from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import task_command
from git_blackbird.model.gate import (
    is_complete,
    last_word,
    open_children,
    present_review,
    skipped_children,
)
from git_blackbird.model.owed import is_resumable, resume_command
from git_blackbird.model.plan import Task
from git_blackbird.model.review import Feedback
from git_blackbird.model.review_views import ChangeReviewView, OwedFeedback, ReviewView
from git_blackbird.model.run import RunStatus, RunType
from git_blackbird.model.standing import Standing
from git_blackbird.model.task_review import readable_merged, reviews_about


def view_review(workspace: Workspace, parent_id: str) -> ReviewView:
    """Show how a parent's review stands.

    Raises RequestError for what is no parent.
    """
    standing = workspace.standing()
    parent = find_parent(standing, parent_id)
    tasks, history = standing.plan.tasks, standing.history(parent.id)
    said = last_word(history)
    complete = is_complete(tasks, parent)
    later = history.reviews if said is None else history.reviews[history.reviews.index(said) + 1 :]
    return ReviewView(
        parent,
        standing.gate.state(tasks, parent) if complete else None,
        open_children(tasks, parent),
        said,
        complete and said is not None and present_review(tasks, parent, history) is said,
        tuple(run for run in later if run.status is not RunStatus.RUNNING),
        tuple(
            _owed_feedback(standing, tasks[task_id], feedback)
            for task_id, feedback in sorted(standing.feedback.items())
            if feedback.parent_task_id == parent.id
        ),
        tuple(run for run in history.runs if run.run_type is RunType.REVIEW),
        skipped_children(tasks, parent),
    )


def _owed_feedback(standing: Standing, leaf: Task, feedback: Feedback) -> OwedFeedback:
    return OwedFeedback(
        leaf, feedback, resume_command(standing, leaf), is_resumable=is_resumable(standing, leaf)
    )


def view_change_review(workspace: Workspace, task: Task) -> ChangeReviewView:
    """Show how the reviews of a leaf's change stand."""
    history = workspace.store.records.history(task.id)
    reviews = workspace.store.records.reviews(task.id)
    run = history.latest or history.newest
    return ChangeReviewView(
        task,
        run,
        None if run is None else readable_merged(run),
        () if run is None else reviews_about(reviews.runs, run),
        tuple(one for one in history.own if one.merged_review is not None),
        workspace.settings.number("reviews.maxIterations"),
        workspace.reviews_changes,
        tuple(dict.fromkeys((*history.faults, *reviews.faults))),
    )


def find_parent(standing: Standing, parent_id: str) -> Task:
    """Give the parent of that id.

    Raises RequestError for what is no parent.
    """
    parent = find_task(standing.plan, parent_id)
    if not parent.children:
        raise RequestError(
            f"{parent.id} has no children; only parents are reviewed",
            hint=task_command("runs", parent.id, remark="what its agent did"),
        )
    return parent
