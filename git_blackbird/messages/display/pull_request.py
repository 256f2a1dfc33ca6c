"""The text of a request to merge the change of a task."""

from collections.abc import Iterator

from git_blackbird.messages.display.format import check_word
from git_blackbird.messages.display.reviews import overall_word
from git_blackbird.model.base.sanitize import clean_line, strip_controls
from git_blackbird.model.plan.plan import Task
from git_blackbird.model.run.findings import MergedReview
from git_blackbird.model.run.parts import CheckOutcome
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import APPROVALS


def request_title(task: Task) -> str:
    """Return the title of the task on one line."""
    return clean_line(task.title) or task.id


def request_body(task: Task, run: Run, merged: MergedReview | None) -> str:
    """Return what the task asked for, and what is known of its change."""
    return "\n".join(_lines(task, run, merged)).strip("\n") + "\n"


def _lines(task: Task, run: Run, merged: MergedReview | None) -> Iterator[str]:
    if task.description.strip():
        yield from (strip_controls(task.description).strip("\n"), "")
    if task.acceptance_criteria:
        yield "What must hold:"
        yield from ("", *(f"- {clean_line(one, 1000)}" for one in task.acceptance_criteria), "")
    known = tuple(_known(run, merged))
    if known:
        yield from ("What is known of it:", "", *(f"- {one}" for one in known), "")
    if run.final_text:
        yield from ("What the agent says:", "")
        yield from (f"> {line}".rstrip() for line in strip_controls(run.final_text).splitlines())
        yield ""
    yield f"Task {task.id}, run {run.id}"


def _known(run: Run, merged: MergedReview | None) -> Iterator[str]:
    check = run.landing_check or run.check
    if check is not None and check.outcome is not CheckOutcome.DUE:
        yield f"check: {check_word(check)}"
    if run.merged_review is not None:
        yield f"reviews: {overall_word(merged)}"
    if run.decision_state in APPROVALS:
        yield "approved by a person"
