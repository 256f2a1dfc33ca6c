"""A parent's review that failed: what it found, whom it flags, and the ways on."""

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import OptionList, Static

from git_blackbird.controller.review_views import ReviewView
from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.messages.review_text import NO_REASON
from git_blackbird.model.text import clean_line
from git_blackbird.tui.lines import drawn, listed, paragraph, section
from git_blackbird.tui.modals.chooser import ChoiceList, Offer
from git_blackbird.tui.modals.modal import Modal

RESUME_ALL = "/all"
"""The choice of all; no task has an id with a slash."""
DISMISS = "/dismiss"


class ParentReviewScreen(Modal[str]):
    """Gives the id of the one task to resume, ``RESUME_ALL`` or ``DISMISS``; None leaves it as it is."""

    def __init__(self, view: ReviewView) -> None:
        super().__init__()
        self._view = view
        self._offers = tuple(_offers(view))

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box wide"):
            yield Static(f"Review of {self._view.parent.id}", classes="title", markup=False)
            with VerticalScroll(can_focus=False):
                yield Static(drawn(_lines(self._view)), markup=False)
            yield ChoiceList(self._offers)
            yield Static("enter chooses, esc leaves it as it is", classes="keys", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the choice."""
        self.give(self._offers[event.option_index].value)


def _offers(view: ReviewView) -> Iterator[Offer[str]]:
    for owed in view.owed:
        yield Offer(owed.task.id, f"Resume {owed.task.id}", clean_line(owed.task.title))
    if view.owed:
        yield Offer(RESUME_ALL, "Resume all")
    yield Offer(DISMISS, "Dismiss, with a reason")


def _lines(view: ReviewView) -> Iterator[Line]:
    yield Line(clean_line(view.parent.title), Tone.HEADING)
    if view.said is None:
        why = view.attempts[-1].error if view.attempts else None
        yield from listed([f"no verdict: {why or NO_REASON}"], Tone.WARNING)
    else:
        yield from section("Found", paragraph(view.said.parent_review_feedback or ""))
    for owed in view.owed:
        yield from section(f"{owed.task.id} must hear", paragraph(owed.feedback.feedback))
