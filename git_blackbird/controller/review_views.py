"""How the reviews of a parent, or of a leaf's change, stand, for readers. Takes no lock, writes nothing."""

from typing import NamedTuple

from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import task_command
from git_blackbird.model.findings import MergedReview
from git_blackbird.model.gate import GateState, is_complete, last_word, present_review
from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import resume_command
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run, RunStatus, RunType
from git_blackbird.model.standing import Standing
from git_blackbird.model.task_review import readable_merged, reviews_about


class OwedFeedback(NamedTuple):
    """What a leaf below a parent is owed, and the command that carries it there."""

    task: Task
    feedback: Feedback
    command: str


class ReviewView(NamedTuple):
    """How the review of one parent stands.

    ``gate`` is None while a child is not ``done``, as ``open_children`` names them. ``said`` is the review
    that counts, whether or not the children have changed since (``is_present``); ``attempts`` are the later
    ones without a verdict.
    """

    parent: Task
    gate: GateState | None
    open_children: tuple[TaskId, ...]
    said: Run | None
    is_present: bool
    attempts: tuple[Run, ...]
    owed: tuple[OwedFeedback, ...]
    reviews: tuple[Run, ...]


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
        tuple(child for child in parent.children if tasks[child].status != Status.DONE),
        said,
        complete and said is not None and present_review(tasks, parent, history) is said,
        tuple(run for run in later if run.status is not RunStatus.RUNNING),
        tuple(
            OwedFeedback(tasks[task_id], feedback, resume_command(standing, tasks[task_id]))
            for task_id, feedback in sorted(standing.feedback.items())
            if feedback.parent_task_id == parent.id
        ),
        tuple(run for run in history.runs if run.run_type is RunType.REVIEW),
    )


class ChangeReviewView(NamedTuple):
    """How the reviews of a leaf's change stand.

    ``run`` is its latest, None where it never ran, and ``merged`` what its reviews came to; ``about`` are the
    records of its reviewers, ``rounds`` the runs that were reviewed, oldest first.
    """

    task: Task
    run: Run | None
    merged: MergedReview | None
    about: tuple[Run, ...]
    rounds: tuple[Run, ...]
    max_rounds: int
    is_on: bool
    faults: tuple[RecordFault, ...]


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
        workspace.settings.text("reviews.mode") != "off",
        (*history.faults, *reviews.faults),
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
