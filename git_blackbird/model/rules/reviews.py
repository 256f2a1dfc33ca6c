"""Whether reviews allow a parent to be ``done``, and the feedback they leave pending."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.timestamps import Moment, moment_of
from git_blackbird.model.plan.graph import subtree_leaves
from git_blackbird.model.plan.plan import Plan, Task
from git_blackbird.model.plan.status import Status
from git_blackbird.model.run.history import NO_HISTORY, History, RecordError
from git_blackbird.model.run.parent_verdict import Feedback, completion_signature
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import SUPERSEDED_BY_PLAN, RunStatus, RunType

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.run.findings import MergedReview, ReviewResult


class GateState(StrEnum):
    """The state of a complete parent's gate."""

    OPEN = "open"
    REVIEW_DUE = "due"
    REVIEWING = "reviewing"
    FAILING = "failing"
    UNREADABLE = "unreadable"


class ReviewGate(NamedTuple):
    """Whether parents are reviewed at all, and the records of their reviews."""

    is_on: bool
    histories: Mapping[TaskId, History]

    def state(self, tasks: Mapping[TaskId, Task], parent: Task) -> GateState:
        """Return the state of the gate of a complete parent."""
        history = self.histories.get(parent.id, NO_HISTORY)
        if history.faults:
            return GateState.UNREADABLE
        if not self.is_on:
            return GateState.OPEN
        if any(run.status is RunStatus.RUNNING for run in history.reviews):
            return GateState.REVIEWING
        review = current_review(tasks, parent, history)
        if review is None:
            return GateState.REVIEW_DUE
        return GateState.OPEN if allows_done(review) else GateState.FAILING

    def allows(self, tasks: Mapping[TaskId, Task], parent: Task) -> bool:
        """Whether a review lets a complete parent be ``done``, also while a person has another one made."""
        history = self.histories.get(parent.id, NO_HISTORY)
        review = None if history.faults or not self.is_on else current_review(tasks, parent, history)
        return review is not None and allows_done(review)

    def blocks(self, tasks: Mapping[TaskId, Task], parent: Task) -> bool:
        """Whether a parent stored as ``done`` may not stay so: a later review failed it."""
        history = self.histories.get(parent.id, NO_HISTORY)
        review = latest_verdict(history)
        if not self.is_on or history.faults or review is None or allows_done(review):
            return False
        return current_review(tasks, parent, history) is review


class Transition(NamedTuple):
    """The time of a change of the plan, and the gate of parents then."""

    now: str
    gate: ReviewGate


def latest_verdict(history: History) -> Run | None:
    """Return the latest effective review with a result: a valid verdict, or a dismissal."""
    return next((run for run in reversed(history.reviews) if _has_result(run)), None)


def _has_result(run: Run) -> bool:
    return run.parent_review_passed is not None or run.dismissed is not None


def allows_done(review: Run) -> bool:
    """Whether a review allows its parent to be ``done``: it passed, or a person dismissed it."""
    return review.parent_review_passed is True or review.dismissed is not None


def current_review(tasks: Mapping[TaskId, Task], parent: Task, history: History) -> Run | None:
    """Return the latest review with a result about the children as they are now."""
    reviews = [run for run in history.reviews if _has_result(run)]
    if not reviews:
        return None
    signature = completion_signature(parent, tasks)
    return next(
        (run for run in reversed(reviews) if run.parent_review_completion_signature == signature), None
    )


class ReviewMoments(NamedTuple):
    """When reviews last moved a parent's status, and when one last failed it; None where none did."""

    at: Moment | None
    failed_at: Moment | None


def moved_by_reviews(runs: Iterable[Run], worked: Moment | None) -> ReviewMoments:
    """Return when reviews last moved a parent's status after its children were worked on, at ``worked``.

    A passing review after another does not move it.
    """
    at = failed_at = None
    allows = False
    for moment, passes in _review_events(run for run in runs if run.run_type is RunType.REVIEW):
        if moment is None or (worked is not None and moment <= worked):
            continue
        if passes is False:
            at = failed_at = moment
        elif not allows:
            at = moment
        allows = allows if passes is None else passes
    return ReviewMoments(at, failed_at)


def _review_events(reviews: Iterable[Run]) -> Iterator[tuple[Moment | None, bool | None]]:
    """Yield the start of each review, its end with its verdict, and its dismissal, which passes."""
    for run in reviews:
        yield moment_of(run.started_at), None
        # The children may have changed when the verdict came.
        is_void = run.superseded_by == SUPERSEDED_BY_PLAN
        yield moment_of(run.completed_at), None if is_void else run.parent_review_passed
        if run.dismissed is not None:
            yield moment_of(run.dismissed.at), True


def are_children_over(tasks: Mapping[TaskId, Task], task: Task) -> bool:
    """Whether a task is a parent with all children ``done`` or ``skipped``, at least one ``done``."""
    has_done = any(tasks[child].status == Status.DONE for child in task.children)
    return has_done and not open_children(tasks, task)


def open_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    return tuple(child for child in parent.children if not tasks[child].is_over)


def skipped_children(tasks: Mapping[TaskId, Task], parent: Task) -> tuple[TaskId, ...]:
    return tuple(child for child in parent.children if tasks[child].status == Status.SKIPPED)


def why_incomplete(tasks: Mapping[TaskId, Task], parent: Task) -> str:
    still_open = open_children(tasks, parent)
    return f"not done: {', '.join(still_open)}" if still_open else "all of its children are skipped"


_OF_ALL = "Of all tasks that were reviewed together, it says:"


def outstanding_feedback(
    plan: Plan,
    histories: Mapping[TaskId, History],
    saved: Mapping[TaskId, Feedback],
    damaged: Container[TaskId | None] = (),
) -> dict[TaskId, Feedback]:
    """Return the pending feedback of each leaf: that of its file unless void, and what is not written yet.

    The files are a copy of the verdicts. This repairs what a crash left between two writes of either, and
    what is ``damaged``: such a file says that its leaf has not acted on the latest verdict.
    """
    pending: dict[TaskId, Feedback] = {}
    for task_id, feedback in saved.items():
        task = plan.tasks.get(task_id)
        if task is None or _is_void(histories, feedback):
            continue
        # It was saved as ``done`` after it received this; only the file is left.
        if task.status == Status.DONE and feedback.settled_at == task.updated_at:
            continue
        # If a leaf was given children since, they inherit its feedback.
        for leaf in subtree_leaves(plan, task):
            pending.setdefault(leaf.id, feedback)
    for parent in sorted(plan.parents(), key=lambda task: task.id):
        history = histories.get(parent.id, NO_HISTORY)
        if history.faults:
            continue
        review, latest = current_review(plan.tasks, parent, history), latest_verdict(history)
        if latest is not None and not allows_done(latest):
            for leaf_id, feedback in feedback_of(plan, parent, latest).items():
                if latest is review or leaf_id in damaged:
                    pending.setdefault(leaf_id, feedback)
    return pending


def _is_void(histories: Mapping[TaskId, History], feedback: Feedback) -> bool:
    """Whether its review no longer counts, or the parent has a later verdict.

    Feedback of a review whose record is missing or unreadable stands.
    """
    history = histories.get(feedback.parent_task_id, NO_HISTORY)
    if history.faults:
        return False
    review = history.find(feedback.review_run_id)
    if review is not None and review.is_superseded:
        return True
    latest = latest_verdict(history)
    return latest is not None and (latest.id != feedback.review_run_id or allows_done(latest))


def feedback_of(plan: Plan, parent: Task, review: Run) -> dict[TaskId, Feedback]:
    """Return the feedback of a failing review by leaf.

    For a flagged child that is a parent, its leaves get it; one that left the parent is skipped.
    """
    at = review.completed_at or review.started_at
    return {
        leaf.id: Feedback(
            parent_task_id=parent.id,
            review_run_id=review.id,
            feedback=text_for(review, child),
            created_at=at,
            updated_at=at,
        )
        for child in review.parent_review_resume_task_ids
        if child in parent.children
        for leaf in subtree_leaves(plan, plan.tasks[child])
    }


def text_for(review: Run, child: TaskId) -> str:
    """Return the feedback of a failing review for one child: on its own work first, then on all of it."""
    result = (review.parent_review_results or {}).get(child)
    own = (result.feedback if result is not None else None) or ""
    shared = review.parent_review_feedback or ""
    if not own or not shared or shared.strip() == own.strip():
        return own or shared
    return f"{own.rstrip()}\n\n{_OF_ALL}\n\n{shared}"


TYPES = {"spec": RunType.SPEC_REVIEW, "code": RunType.CODE_REVIEW}


class ReviewFollowUp(StrEnum):
    """Who acts after both reviews: nobody, the agent that made the change, or a person."""

    PROCEED = "proceed"
    FIX = "fix"
    ASK = "ask"


def next_after(merged: "MergedReview", *, round_number: int, max_rounds: int) -> ReviewFollowUp:
    """Return who acts next. A missing review, and issues after the last round, need a person."""
    from git_blackbird.model.run.findings import FollowUp

    if merged.missing or merged.action is None:
        return ReviewFollowUp.ASK
    if merged.action is FollowUp.FIX_AND_REREVIEW:
        return ReviewFollowUp.FIX if round_number < max_rounds else ReviewFollowUp.ASK
    return ReviewFollowUp.PROCEED


def merged_or_none(run: Run) -> "MergedReview | None":
    """Return the merged review in a run's record; None also if it is invalid."""
    if run.merged_review is None:
        return None
    from git_blackbird.model.run.findings import MergedReview

    try:
        return MergedReview.from_value(run.merged_review)
    except ValidationError:
        return None


def result_of(run: Run) -> "ReviewResult | None":
    """Return one reviewer's result from its record; None if it gave no valid result."""
    if run.reviewed_run is None:
        return None
    from git_blackbird.model.run.findings import ReviewResult

    try:
        return ReviewResult.from_value(run.review_result)
    except ValidationError:
        return None


def reviews_about(reviews: Sequence[Run], run: Run) -> tuple[Run, ...]:
    return tuple(review for review in reviews if review.reviewed_run == run.id)


def missing_texts(merged: "MergedReview", about: Sequence[Run]) -> tuple[str, ...]:
    """Return what went wrong with each missing review; ``about`` are the reviews of the change."""
    texts: list[str] = []
    for source in merged.missing:
        tries = [review for review in about if review.run_type is TYPES[source]]
        reason = (tries[-1].error or "it gave no result") if tries else "there are no snapshots of the change"
        texts.append(f"the {source} review is missing: {reason}")
    return tuple(texts)


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

    ``gate`` is None while the parent is not complete. ``said`` is the effective review, whether or not the
    children have changed since (``is_present``); ``attempts`` are later ones without a verdict.
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
