"""The state of the reviews of a parent, or of a leaf's change, for display."""

from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.entities.history import RecordError
from git_blackbird.model.entities.parent_verdict import Feedback
from git_blackbird.model.entities.plan import Task
from git_blackbird.model.entities.run import Run
from git_blackbird.model.rules.reviews import GateState

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.entities.findings import MergedReview


class OutstandingFeedback(NamedTuple):
    """Pending feedback for a leaf below a parent, and the command that sends it.

    ``is_resumable``: the command continues the leaf's session; else it begins a new one.
    """

    task: Task
    feedback: Feedback
    command: str
    is_resumable: bool


class ReviewView(NamedTuple):
    """The state of the review of one parent.

    ``gate`` is None while the parent is not complete; ``open_children`` are unfinished, ``skipped`` were
    skipped. ``said`` is the effective review, whether or not the children have changed since
    (``is_present``); ``attempts`` are later ones without a verdict.
    """

    parent: Task
    gate: GateState | None
    open_children: tuple[TaskId, ...]
    said: Run | None
    is_present: bool
    attempts: tuple[Run, ...]
    outstanding: tuple[OutstandingFeedback, ...]
    reviews: tuple[Run, ...]
    skipped: tuple[TaskId, ...] = ()


class ChangeReviewView(NamedTuple):
    """The state of the reviews of a leaf's change.

    ``run`` is its latest, None if it never ran, and ``merged`` the result of its reviews; ``about`` are the
    records of its reviewers, ``rounds`` the reviewed runs, oldest first.
    """

    task: Task
    run: Run | None
    merged: "MergedReview | None"
    about: tuple[Run, ...]
    rounds: tuple[Run, ...]
    max_rounds: int
    is_on: bool
    faults: tuple[RecordError, ...]
