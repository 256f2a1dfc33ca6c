"""The review of a parent: its state, its findings, the tasks it flags, and the actions on it."""

from collections.abc import Iterator

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.messages.display.reviews import parent_facts, parent_sections
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.model.views.reviews import OutstandingFeedback, ReviewView
from git_blackbird.tui.screens.choice import MenuItem
from git_blackbird.tui.screens.review import (
    Obstacles,
    Request,
    ReviewAction,
    ReviewScreen,
    fact_lines,
    section_lines,
)


class ParentReviewScreen(ReviewScreen):
    """Shows the review of one parent."""

    def __init__(self, view: ReviewView, obstacles: Obstacles) -> None:
        super().__init__(f"Review of {view.parent.id}", _lines(view), _items(view, obstacles))


def _items(view: ReviewView, obstacles: Obstacles) -> Iterator[MenuItem[Request]]:
    parent = view.parent.id
    for feedback in view.outstanding:
        yield _resume_item(feedback, obstacles.run)
    if view.outstanding:
        yield MenuItem(Request(ReviewAction.RESUME_ALL, parent), "Resume all", blocked_reason=obstacles.run)
    yield MenuItem(
        Request(ReviewAction.DISMISS, parent), "Dismiss, with a reason", blocked_reason=obstacles.dismissal
    )
    label = "Review again" if view.said is not None and view.is_present else "Review now"
    yield MenuItem(
        Request(ReviewAction.REVIEW, parent), label, blocked_reason=obstacles.review or obstacles.run
    )


def _resume_item(feedback: OutstandingFeedback, obstacle: str | None) -> MenuItem[Request]:
    """Send outstanding feedback to a leaf: in its session, or in a new one if that is lost."""
    task = feedback.task
    action, verb = ReviewAction.RESUME, "Resume"
    if not feedback.is_resumable:
        action, verb = ReviewAction.RESTART, "Restart"
    return MenuItem(Request(action, task.id), f"{verb} {task.id}", clean_line(task.title), obstacle)


def _lines(view: ReviewView) -> Iterator[StyledLine]:
    yield StyledLine(clean_line(view.parent.title), Style.HEADING)
    yield from fact_lines(parent_facts(view))
    yield from section_lines(parent_sections(view))
