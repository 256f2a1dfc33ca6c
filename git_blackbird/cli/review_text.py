"""A verdict on the children of a parent, in lines; reviewers' words are cleaned of control sequences."""

from collections.abc import Iterator

import click

from git_blackbird.model.review import ChildResult, ChildStatus
from git_blackbird.model.run import Run
from git_blackbird.model.text import clean, clean_line

_MARKS = {ChildStatus.PASSED: ("passed", "green"), ChildStatus.FAILED: ("failed", "red")}


def verdict_lines(run: Run) -> Iterator[str]:
    """Write what a review says of each child, and of all; nothing for a run without a verdict."""
    results = _results(run)
    width = max((len(result.task_id) for result in results), default=0)
    for result in results:
        word, color = _MARKS[result.status]
        yield f"{clean_line(result.task_id).ljust(width)}  {click.style(word, fg=color)}"
        yield from (f"    {line}" for line in clean(result.feedback or "").splitlines())
    said = {result.feedback for result in results}
    if run.parent_review_feedback and run.parent_review_feedback not in said:
        yield "of all"
        yield from (f"    {line}" for line in clean(run.parent_review_feedback).splitlines())


def _results(run: Run) -> list[ChildResult]:
    """Give what is said of each child; early records only name those that are to be resumed."""
    if run.parent_review_results:
        return [result for _, result in sorted(run.parent_review_results.items())]
    flagged = run.parent_review_resume_task_ids
    return [ChildResult(task_id=task_id, status=ChildStatus.FAILED) for task_id in flagged]
