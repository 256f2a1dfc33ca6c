"""The review of a parent: how it stands, what it found, whom it flags, and the ways on."""

from collections.abc import Iterator

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.review_views import parent_facts, parent_sections
from git_blackbird.model.review_views import OwedFeedback, ReviewView
from git_blackbird.model.text import clean_line
from git_blackbird.tui.modals.chooser import Offer
from git_blackbird.tui.modals.review import (
    Act,
    Obstacles,
    ReviewScreen,
    Wanted,
    fact_lines,
    section_lines,
)


class ParentReviewScreen(ReviewScreen):
    """Shows how the review of one parent stands."""

    def __init__(self, view: ReviewView, obstacles: Obstacles) -> None:
        super().__init__(f"Review of {view.parent.id}", _lines(view), _offers(view, obstacles))


def _offers(view: ReviewView, obstacles: Obstacles) -> Iterator[Offer[Wanted]]:
    parent = view.parent.id
    for owed in view.owed:
        yield _resuming(owed, obstacles.run)
    if view.owed:
        yield Offer(Wanted(Act.RESUME_ALL, parent), "Resume all", obstacle=obstacles.run)
    yield Offer(Wanted(Act.DISMISS, parent), "Dismiss, with a reason", obstacle=obstacles.dismissal)
    again = "Review again" if view.said is not None and view.is_present else "Review now"
    yield Offer(Wanted(Act.REVIEW, parent), again, obstacle=obstacles.review or obstacles.run)


def _resuming(owed: OwedFeedback, obstacle: str | None) -> Offer[Wanted]:
    """Offer to carry to a leaf what it must hear: in its session, or in a new one where that is lost."""
    act, word = (Act.RESUME, "Resume") if owed.is_resumable else (Act.RESTART, "Restart")
    return Offer(Wanted(act, owed.task.id), f"{word} {owed.task.id}", clean_line(owed.task.title), obstacle)


def _lines(view: ReviewView) -> Iterator[Line]:
    yield Line(clean_line(view.parent.title), Tone.HEADING)
    yield from fact_lines(parent_facts(view))
    yield from section_lines(parent_sections(view))
