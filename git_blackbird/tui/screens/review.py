"""The reviews of a parent or of a leaf's change, with the actions on them; those not possible say why."""

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from textual.app import ComposeResult
from textual.widgets import OptionList

from git_blackbird.messages.display.format import review_word, verdict_word
from git_blackbird.messages.display.quantities import format_cost, format_moment
from git_blackbird.messages.display.reviews import (
    change_document,
    merged_lines,
    parent_document,
    result_lines,
)
from git_blackbird.messages.document import Line, Style, section, styled
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.change.decision import REVIEW_AND_FIX, may_fix
from git_blackbird.model.rules.reviews import ChangeReviewView, OutstandingFeedback, ReviewView
from git_blackbird.model.run.run import Run
from git_blackbird.tui.keys import KeyTable
from git_blackbird.tui.screens.modal import ScrollingModal
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceList
from git_blackbird.tui.widgets.line_view import WrappedView, document_lines


class ReviewAction(Enum):
    """An action on a review."""

    RESUME = auto()
    RESTART = auto()
    RESUME_ALL = auto()
    REVIEW = auto()
    DISMISS = auto()
    DECIDE = auto()


class Request(NamedTuple):
    """An action on the review of a task, or on a task it flags."""

    action: ReviewAction
    task_id: TaskId


class Obstacles(NamedTuple):
    """Why an agent cannot be run, a review started, or a review dismissed now; None if it can."""

    run: str | None
    review: str | None
    dismissal: str | None


class ReviewScreen(ScrollingModal[Request]):
    """Shows lines, and below them the actions; None changes nothing."""

    def __init__(self, title: str, lines: Iterable[Line], items: Iterable[ChoiceItem[Request]]) -> None:
        super().__init__(title, "enter chooses, pgup/pgdn scroll, esc leaves it as it is", "full")
        self._lines = tuple(lines)
        self._items = tuple(items)

    def compose_body(self) -> ComposeResult:
        yield WrappedView(id="findings")
        yield ChoiceList(self._items)

    def on_mount(self) -> None:
        self.read_widget.show(self._lines)
        self.query_one(ChoiceList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._items[event.option_index].value)

    @property
    def read_widget(self) -> WrappedView:
        return self.query_one(WrappedView)


class ParentReviewScreen(ReviewScreen):
    """Shows the review of one parent."""

    def __init__(self, view: ReviewView, obstacles: Obstacles, keys: KeyTable) -> None:
        lines = _parent_lines(view, keys)
        super().__init__(f"Review of {view.parent.id}", lines, _parent_items(view, obstacles))


def _parent_items(view: ReviewView, obstacles: Obstacles) -> Iterator[ChoiceItem[Request]]:
    parent = view.parent.id
    for feedback in view.outstanding:
        yield _resume_item(feedback, obstacles.run)
    if view.outstanding:
        yield ChoiceItem(Request(ReviewAction.RESUME_ALL, parent), "Resume all", blocked_reason=obstacles.run)
    yield ChoiceItem(
        Request(ReviewAction.DISMISS, parent), "Dismiss, with a reason", blocked_reason=obstacles.dismissal
    )
    label = "Review again" if view.said is not None and view.is_present else "Review now"
    yield ChoiceItem(
        Request(ReviewAction.REVIEW, parent), label, blocked_reason=obstacles.review or obstacles.run
    )


def _resume_item(feedback: OutstandingFeedback, obstacle: str | None) -> ChoiceItem[Request]:
    """Send outstanding feedback to a leaf: in its session, or in a new one if that is lost."""
    task = feedback.task
    action = ReviewAction.RESUME if feedback.is_resumable else ReviewAction.RESTART
    verb = action.name.capitalize()
    return ChoiceItem(Request(action, task.id), f"{verb} {task.id}", task.title, obstacle)


def _parent_lines(view: ReviewView, keys: KeyTable) -> Iterator[Line]:
    yield styled(view.parent.title, Style.HEADING)
    yield from document_lines(keys.in_document(parent_document(view)))


class ChangeReviewScreen(ReviewScreen):
    """Shows the reviews of one leaf's change."""

    def __init__(self, view: ChangeReviewView, obstacles: Obstacles) -> None:
        super().__init__(f"Reviews of {view.task.id}", _change_lines(view), _change_items(view, obstacles))


def _change_items(view: ChangeReviewView, obstacles: Obstacles) -> Iterator[ChoiceItem[Request]]:
    task_id = view.task.id
    if view.run is not None and view.run.is_pending:
        yield ChoiceItem(
            Request(ReviewAction.DECIDE, task_id), "Decide on the change", blocked_reason=obstacles.run
        )
    again = REVIEW_AND_FIX if view.run is not None and may_fix(view.run, view.max_rounds) else "Review again"
    label = "Review now" if view.merged is None else again
    yield ChoiceItem(
        Request(ReviewAction.REVIEW, task_id), label, blocked_reason=obstacles.review or obstacles.run
    )


def _change_lines(view: ChangeReviewView) -> Iterator[Line]:
    yield styled(view.task.title, Style.HEADING)
    yield from document_lines(change_document(view))
    if view.run is not None and view.merged is not None:
        yield from document_lines([section("both reviews", merged_lines(view.run))])
    yield from document_lines(section(_reviewer_title(run), _findings(run)) for run in view.about)
    faults = (styled(f"{error.path}: {error.what}", Style.WARNING) for error in view.faults)
    yield from document_lines([section("unreadable", faults)])


def _reviewer_title(run: Run) -> str:
    return (
        f"{review_word(run.run_type).capitalize()} {run.id}: {run.status}, {verdict_word(run)}, "
        f"{run.provider}, {format_moment(run.started_at)}, {format_cost(run.cost_usd)}"
    )


def _findings(run: Run) -> Iterator[Line]:
    if run.error:
        yield styled(run.error, Style.WARNING)
    lines = list(result_lines(run))
    yield from lines
    if not lines and not run.error:
        yield styled("nothing is recorded", Style.FAINT)
