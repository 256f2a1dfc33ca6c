"""Base of the screens of reviews: findings, and actions on them; those not possible now say why."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from git_blackbird.messages.display.checkpoint import StyledLine
from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.tui.screens.choice import ChoiceList, MenuItem
from git_blackbird.tui.screens.modal import ScrollingModal
from git_blackbird.tui.widgets.line_view import WrappedView
from git_blackbird.tui.widgets.styled_lines import LONGEST, section


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

    def __init__(self, title: str, lines: Iterable[StyledLine], items: Iterable[MenuItem[Request]]) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        self._items = tuple(items)

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        with Vertical(classes="box full"):
            yield Static(self._title, classes="title", markup=False)
            yield WrappedView(id="findings")
            yield ChoiceList(self._items)
            yield Static(
                "enter chooses, pgup/pgdn scroll, esc leaves it as it is", classes="keys", markup=False
            )

    def on_mount(self) -> None:
        """Show the findings, and focus the actions."""
        self.read_widget.show(self._lines)
        self.query_one(ChoiceList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen action."""
        self.dismiss_once(self._items[event.option_index].value)

    @property
    def read_widget(self) -> WrappedView:
        """The findings."""
        return self.query_one(WrappedView)


def fact_lines(facts: Iterable[tuple[str, str]]) -> Iterator[StyledLine]:
    """Format facts as two columns."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    yield from (StyledLine(f"  {name:<{width}}  {clean_line(text, LONGEST)}") for name, text in rows)


def section_lines(sections: Iterable[tuple[str, Sequence[str]]]) -> Iterator[StyledLine]:
    """Format sections, each indented below its title."""
    for title, texts in sections:
        yield from section(title, (StyledLine(f"  {text}") for text in texts))
