"""How the review of a parent stands, for readers. Takes no lock and writes nothing."""

from typing import NamedTuple

from git_blackbird.controller.workspace import Workspace, find_task
from git_blackbird.errors import RequestError
from git_blackbird.model.commands import task_command
from git_blackbird.model.gate import GateState, is_complete, last_word, present_review
from git_blackbird.model.ids import TaskId
from git_blackbird.model.owed import resume_command
from git_blackbird.model.plan import Status, Task
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run, RunStatus, RunType
from git_blackbird.model.standing import Standing


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
