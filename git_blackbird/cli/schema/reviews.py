"""Output of ``review``."""

from typing import ClassVar, Self

from pydantic import Field

from git_blackbird.cli.schema.base import CommandOutput, View
from git_blackbird.cli.schema.common import (
    ParentReviewView,
    RunView,
    StepView,
    parent_review_fields,
    step_fields,
)
from git_blackbird.messages.display.reviews import change_steps, parent_steps
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.entities.cli_hints import runnable_steps
from git_blackbird.model.entities.findings import MergedReview
from git_blackbird.model.entities.run import DecisionState, ReviewState, Run, RunStatus
from git_blackbird.model.entities.status import Status
from git_blackbird.model.rules.review_gate import GateState
from git_blackbird.model.rules.review_rounds import merged_or_none, missing_texts
from git_blackbird.model.views.reviews import ChangeReviewView, OutstandingFeedback, ReviewView

_NEXT_STEPS = "Commands that get on with it."


class _VerdictRun(View):
    run: RunId = Field(description="The review.")


class VerdictView(ParentReviewView, _VerdictRun):
    """The review of a parent that counts."""

    @classmethod
    def of_run(cls, run: Run | None) -> Self | None:
        """Make it of a review; None where there is none."""
        return None if run is None else cls(run=run.id, **parent_review_fields(run))


class ReviewAttempt(View):
    """A review without a verdict."""

    run: RunId = Field(description="The review.")
    status: RunStatus = Field(description="How it ended.")
    error: str | None = Field(description="Why.")


class _FeedbackFields(View):
    task: TaskId = Field(description="The task that it is for.")
    run: RunId = Field(description="The review.")
    feedback: str = Field(description="What is to be changed.")


class PendingFeedback(StepView, _FeedbackFields):
    """Feedback of a parent review that an agent must still be told, and the command that sends it."""

    @classmethod
    def of_leaf(cls, one: OutstandingFeedback) -> Self:
        """Make it of what a leaf must still hear."""
        review = one.feedback
        return cls(
            task=one.task.id, run=review.review_run_id, feedback=review.feedback, **step_fields(one.command)
        )


class ParentReviewOutput(CommandOutput):
    """How the review of a parent stands."""

    schema_name: ClassVar[str] = "review-parent"

    task: TaskId = Field(description="The parent.")
    title: str = Field(description="Its title.")
    status: Status = Field(description="Its status.")
    gate: GateState | None = Field(
        description="Whether its review lets it be done; null while a child is open, or when all are skipped."
    )
    open_children: tuple[TaskId, ...] = Field(description="Children that are still to be done.")
    skipped_children: tuple[TaskId, ...] = Field(description="Children that the parent is complete without.")
    verdict: VerdictView | None = Field(description="The review that counts.")
    is_present: bool = Field(description="Whether it is about the children as they are now.")
    attempts: tuple[ReviewAttempt, ...] = Field(description="Later reviews without a verdict.")
    pending_feedback: tuple[PendingFeedback, ...] = Field(
        description="Feedback that agents must still be told."
    )
    reviews: tuple[RunView, ...] = Field(description="Its reviews, newest first.")
    next_steps: tuple[str, ...] = Field(description=_NEXT_STEPS)

    @classmethod
    def of(cls, view: ReviewView, now: str) -> Self:
        """Make it of a parent's view."""
        return cls(
            task=view.parent.id,
            title=view.parent.title,
            status=view.parent.status,
            gate=view.gate,
            open_children=view.open_children,
            skipped_children=view.skipped,
            verdict=VerdictView.of_run(view.said),
            is_present=view.is_present,
            attempts=tuple(
                ReviewAttempt(run=run.id, status=run.status, error=run.error) for run in view.attempts
            ),
            pending_feedback=tuple(map(PendingFeedback.of_leaf, view.outstanding)),
            reviews=tuple(RunView.of(run, now) for run in reversed(view.reviews)),
            next_steps=tuple(runnable_steps(parent_steps(view))),
        )


class ReviewRound(View):
    """One round of reviews of a change."""

    run: RunId = Field(description="The run whose change it was.")
    round: int | None = Field(description="Its number.")
    review: MergedReview | None = Field(description="Both reviews as one.")


class ChangeReviewOutput(CommandOutput):
    """How the reviews of a leaf's change stand."""

    schema_name: ClassVar[str] = "review-change"

    task: TaskId = Field(description="The task.")
    title: str = Field(description="Its title.")
    status: Status = Field(description="Its status.")
    run: RunId | None = Field(description="Its latest run.")
    review_state: ReviewState | None = Field(description="How the reviews of that run's change stand.")
    decision: DecisionState | None = Field(description="What was decided on it.")
    round: int | None = Field(description="The round of reviews.")
    max_rounds: int = Field(description="How many rounds there may be.")
    review: MergedReview | None = Field(description="Both reviews as one.")
    missing: tuple[str, ...] = Field(description="What a reviewer without a result did wrong.")
    rounds: tuple[ReviewRound, ...] = Field(description="Every round, oldest first.")
    reviews: tuple[RunView, ...] = Field(description="Every try of both reviewers.")
    next_steps: tuple[str, ...] = Field(description=_NEXT_STEPS)

    @classmethod
    def of(cls, view: ChangeReviewView, now: str) -> Self:
        """Make it of a leaf's view."""
        run, merged = view.run, view.merged
        return cls(
            task=view.task.id,
            title=view.task.title,
            status=view.task.status,
            run=None if run is None else run.id,
            review_state=None if run is None else run.review_state,
            decision=None if run is None else run.decision_state,
            round=None if run is None else run.review_round,
            max_rounds=view.max_rounds,
            review=merged,
            missing=() if merged is None else tuple(missing_texts(merged, view.about)),
            rounds=tuple(
                ReviewRound(run=one.id, round=one.review_round, review=merged_or_none(one))
                for one in view.rounds
            ),
            reviews=tuple(RunView.of(one, now) for one in view.about),
            next_steps=tuple(runnable_steps(change_steps(view))),
        )


class DismissOutput(CommandOutput):
    """What dismissing a parent's review led to."""

    schema_name: ClassVar[str] = "review-dismiss"

    task: TaskId = Field(description="The parent.")
    status: Status = Field(description="Its status now.")
    run: RunId = Field(description="The review.")
    reason: str = Field(description="Why it was dismissed.")
    dropped: tuple[TaskId, ...] = Field(description="Tasks whose feedback is no longer pending.")
