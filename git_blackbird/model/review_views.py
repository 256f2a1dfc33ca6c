"""How the reviews of a parent, or of a leaf's change, stand: what faces show of them."""

from typing import TYPE_CHECKING, NamedTuple

from git_blackbird.model.gate import GateState
from git_blackbird.model.history import RecordFault
from git_blackbird.model.ids import TaskId
from git_blackbird.model.plan import Task
from git_blackbird.model.review import Feedback
from git_blackbird.model.run import Run

if TYPE_CHECKING:
    # Only who has reviews to look at pays for loading what they are made of.
    from git_blackbird.model.findings import MergedReview


class OwedFeedback(NamedTuple):
    """What a leaf below a parent is owed, and the command that carries it there.

    ``is_resumable``: the command goes on in the leaf's session; else it begins a new one.
    """

    task: Task
    feedback: Feedback
    command: str
    is_resumable: bool


class ReviewView(NamedTuple):
    """How the review of one parent stands.

    ``gate`` is None while the parent is not complete; ``open_children`` are still to be done, ``skipped`` are
    those that nobody does. ``said`` is the review
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
    skipped: tuple[TaskId, ...] = ()


class ChangeReviewView(NamedTuple):
    """How the reviews of a leaf's change stand.

    ``run`` is its latest, None where it never ran, and ``merged`` what its reviews came to; ``about`` are the
    records of its reviewers, ``rounds`` the runs that were reviewed, oldest first.
    """

    task: Task
    run: Run | None
    merged: "MergedReview | None"
    about: tuple[Run, ...]
    rounds: tuple[Run, ...]
    max_rounds: int
    is_on: bool
    faults: tuple[RecordFault, ...]
