"""Rounds of reviews of a change, and who acts next (spec 4, DESIGN.md 7)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import ValidationError

from git_blackbird.model.entities.run import DecisionState, Run, RunType

if TYPE_CHECKING:
    # Imported on demand, because only reviews need it.
    from git_blackbird.model.entities.findings import MergedReview, ReviewResult, Source

BY_REVIEWERS = "reviewers"
TYPES = {"spec": RunType.SPEC_REVIEW, "code": RunType.CODE_REVIEW}


class ReviewFollowUp(StrEnum):
    """Who acts after both reviews: the flow continues, the implementer fixes, or a person decides."""

    PROCEED = "proceed"
    FIX = "fix"
    ASK = "ask"


def next_after(merged: "MergedReview", *, round_number: int, max_rounds: int) -> ReviewFollowUp:
    """Return who acts next. A missing review, and issues after the last round, need a person."""
    from git_blackbird.model.entities.findings import FollowUp  # noqa: PLC0415  # see above

    if merged.missing or merged.action is None:
        return ReviewFollowUp.ASK
    if merged.action is FollowUp.FIX_AND_REREVIEW:
        return ReviewFollowUp.FIX if round_number < max_rounds else ReviewFollowUp.ASK
    return ReviewFollowUp.PROCEED


def round_of(runs: Sequence[Run], run: Run) -> int:
    """Count the rounds of reviews up to this run, from 1; a person's change request restarts the count.

    ``runs`` are those of one change, oldest first.
    """
    for earlier in reversed(runs[: runs.index(run)]):
        if earlier.decision_state is DecisionState.CHANGES_REQUESTED:
            return (earlier.review_round or 1) + 1 if earlier.requested_by == BY_REVIEWERS else 1
    return 1


def merged_of(run: Run) -> "MergedReview | None":
    """Return the merged review in a run's record. Raises ValidationError if it is invalid."""
    if run.merged_review is None:
        return None
    from git_blackbird.model.entities.findings import MergedReview  # noqa: PLC0415  # see above

    return MergedReview.from_value(run.merged_review)


def merged_or_none(run: Run) -> "MergedReview | None":
    """Return the merged review for display; None also if it is invalid."""
    try:
        return merged_of(run)
    except ValidationError:
        return None


def result_of(run: Run) -> "ReviewResult | None":
    """Return one reviewer's result from its record; None if it gave no valid result."""
    if run.review_result is None:
        return None
    from git_blackbird.model.entities.findings import ReviewResult  # noqa: PLC0415  # see above

    try:
        return ReviewResult.from_value(run.review_result)
    except ValidationError:
        return None


def reviews_about(reviews: Sequence[Run], run: Run) -> tuple[Run, ...]:
    """Return the reviews of one run's change, in order."""
    return tuple(review for review in reviews if review.reviewed_run == run.id)


def missing_texts(merged: "MergedReview", about: Sequence[Run]) -> tuple[str, ...]:
    """Return what went wrong with each missing review; ``about`` are the reviews of the change."""
    return tuple(f"the {source} review is missing: {_fault(source, about)}" for source in merged.missing)


def _fault(source: "Source", about: Sequence[Run]) -> str:
    tries = [review for review in about if review.run_type is TYPES[source]]
    return (tries[-1].error or "it gave no result") if tries else "there are no snapshots of the change"
