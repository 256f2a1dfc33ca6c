"""What follows from the reviews of a change: who acts next, and in which round (spec 4, DESIGN.md 7)."""

from collections.abc import Sequence
from enum import StrEnum

from git_blackbird.model.findings import Action, MergedReview, ReviewResult, Source
from git_blackbird.model.recorded import PartFault, parse_part, plain
from git_blackbird.model.run import DecisionState, Run, RunType

BY_REVIEWERS = "reviewers"
TYPES = {Source.SPEC: RunType.SPEC_REVIEW, Source.CODE: RunType.CODE_REVIEW}


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


def readable_merged(run: Run) -> MergedReview | None:
    """Give the same for who shows it; None for one that is not what it must be as well."""
    try:
        return merged_of(run)
    except PartFault:
        return None


def result_of(run: Run) -> ReviewResult | None:
    """Give what one reviewer found, as its record has it; None for one that gave no readable result."""
    if run.review_result is None:
        return None
    try:
        return parse_part(ReviewResult, run.review_result)
    except PartFault:
        return None


def reviews_about(reviews: Sequence[Run], run: Run) -> tuple[Run, ...]:
    """Give the reviews of one run's change, in their order."""
    return tuple(one for one in reviews if one.reviewed_run == run.id)


def missing_texts(merged: MergedReview, about: Sequence[Run]) -> tuple[str, ...]:
    """Say of each review that is missing what its reviewer did wrong; ``about`` are those of the change."""
    return tuple(f"the {source} review is missing: {_fault(source, about)}" for source in merged.missing)


def _fault(source: Source, about: Sequence[Run]) -> str:
    tries = [one for one in about if one.run_type is TYPES[source]]
    return (tries[-1].error or "it gave no result") if tries else "no snapshots say what the change is"


def written(merged: MergedReview) -> dict[str, object]:
    """Give a merged review as a record keeps it."""
    return plain(merged)
