"""What follows from the reviews of a change: who acts next, and in which round (spec 4, DESIGN.md 7)."""

from collections.abc import Sequence
from enum import StrEnum

from git_blackbird.model.findings import Action, MergedReview
from git_blackbird.model.recorded import parse_part, plain
from git_blackbird.model.run import DecisionState, Run

BY_REVIEWERS = "reviewers"


class Next(StrEnum):
    """Who acts after both reviews: the flow goes on, the implementer mends, or a person decides."""

    PROCEED = "proceed"
    FIX = "fix"
    ASK = "ask"


def next_after(merged: MergedReview, *, round_number: int, max_rounds: int) -> Next:
    """Say who acts next. A review that is missing, and issues after the last round, are for a person."""
    if merged.missing or merged.action is None:
        return Next.ASK
    if merged.action is Action.FIX_AND_REREVIEW:
        return Next.FIX if round_number < max_rounds else Next.ASK
    return Next.PROCEED


def round_of(runs: Sequence[Run], run: Run) -> int:
    """Count the rounds of reviews up to this run, from 1; a change request by a person begins anew.

    ``runs`` are those of one change, oldest first.
    """
    for earlier in reversed(runs[: runs.index(run)]):
        if earlier.decision_state is DecisionState.CHANGES_REQUESTED:
            return (earlier.review_round or 1) + 1 if earlier.requested_by == BY_REVIEWERS else 1
    return 1


def merged_of(run: Run) -> MergedReview | None:
    """Give the merged review on a run's record.

    Raises PartFault for one that is not what it must be.
    """
    return None if run.merged_review is None else parse_part(MergedReview, run.merged_review)


def written(merged: MergedReview) -> dict[str, object]:
    """Give a merged review as a record keeps it."""
    return plain(merged)
