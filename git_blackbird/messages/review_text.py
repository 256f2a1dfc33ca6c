"""What is said of reviews, in lines; reviewers' words are cleaned of control sequences."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from git_blackbird.messages.amounts import render_cost, render_duration
from git_blackbird.model.review import excerpt
from git_blackbird.model.run import OVERTAKEN_BY_PLAN, OVERTAKEN_BY_UNAVAILABLE, Run
from git_blackbird.model.task_review import readable_merged, result_of
from git_blackbird.model.text import clean, clean_line

if TYPE_CHECKING:
    # Only who has reviews to look at pays for loading what they are made of.
    from git_blackbird.model.findings import MergedReview

NO_REASON = "it gave no verdict"
UNREADABLE = "what they found cannot be read"
_VERDICTS = {
    "APPROVED": "approved",
    "APPROVED_WITH_MINOR": "minor",
    "ISSUES": "issues",
}


def render_review_end(run: Run, seconds: float) -> Iterator[str]:
    """Say what a reviewer found, or why it found nothing."""
    if run.superseded_by == OVERTAKEN_BY_PLAN:
        yield f"the review of {run.task_id} does not count: what it is about has changed meanwhile"
    elif run.superseded_by == OVERTAKEN_BY_UNAVAILABLE:
        yield f"could not review {run.task_id}: {clean_line(run.error or NO_REASON)}"
    elif run.parent_review_passed is None:
        yield render_no_verdict(run.task_id, run.error or NO_REASON)
    elif run.parent_review_passed:
        cost = (render_cost(run.cost_usd),) if run.cost_usd else ()
        yield f"parent review passed for {run.task_id}: {', '.join((*cost, render_duration(seconds)))}"
    else:
        told = excerpt(clean(run.parent_review_feedback or ""))
        yield from render_failing(run.task_id, run.parent_review_resume_task_ids, told)


def render_failing(task_id: str, resume: Sequence[str], feedback: str) -> Iterator[str]:
    """Say that a review failed, which children it flags, and how its feedback begins (spec 0)."""
    yield f"parent review failed for {task_id}"
    yield f"resume tasks: {', '.join(map(clean_line, resume))}"
    yield f"feedback: {clean_line(feedback)}"


def render_no_verdict(task_id: str, fault: str) -> str:
    """Say that a reviewer gave no verdict, and why."""
    return f"no verdict on {task_id}: {clean_line(fault)}"


def verdict_word(run: Run) -> str:
    """Write what a review came to in a word; ``-`` where it gave no verdict."""
    if run.is_of_change:
        result = result_of(run)
        return "-" if result is None else _VERDICTS[result.counted_verdict]
    if run.parent_review_dismissed is not None:
        return "dismissed"
    if run.parent_review_passed is None:
        return "-"
    word = "passed" if run.parent_review_passed else "failed"
    return f"{word}, void" if run.superseded_by == OVERTAKEN_BY_PLAN else word


def result_lines(run: Run) -> Iterator[str]:
    """Write what one reviewer of a change found; nothing for a run without a result."""
    result = result_of(run)
    if result is not None:
        # Only who looks at one run pays for loading it.
        from git_blackbird.messages.merged_review import render_result_text  # noqa: PLC0415  # only a review pays

        yield from clean(render_result_text(result)).splitlines()


def merged_lines(run: Run) -> Iterator[str]:
    """Write what both reviewers of a run's change found (spec 4); nothing for a run without reviews."""
    merged = readable_merged(run)
    if merged is not None:
        from git_blackbird.messages.merged_review import render_merged_text  # noqa: PLC0415  # as above

        yield from clean(render_merged_text(merged)).splitlines()


def overall_word(merged: "MergedReview | None") -> str:
    """Write what both reviews of a change came to in a word; None is what a record no longer tells."""
    if merged is None:
        return UNREADABLE
    return "a review is missing" if merged.missing else str(merged.overall)
