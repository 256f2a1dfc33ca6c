"""What reviews found, and what a person can do about it; what is not possible now says why."""

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import OptionList, Static

from git_blackbird.messages.checkpoint_text import Line
from git_blackbird.model.ids import TaskId
from git_blackbird.model.text import clean_line
from git_blackbird.tui.line_view import FoldedView
from git_blackbird.tui.lines import LONGEST, section
from git_blackbird.tui.modals.chooser import ChoiceList, Offer
from git_blackbird.tui.modals.scrolling import ScrollingModal


class Act(Enum):
    """What can be done about a review."""

    RESUME = auto()
    RESTART = auto()
    RESUME_ALL = auto()
    REVIEW = auto()
    DISMISS = auto()
    DECIDE = auto()


class Wanted(NamedTuple):
    """What is to be done, and to which task."""

    act: Act
    task_id: TaskId


class Obstacles(NamedTuple):
    """Why something cannot be done now: anything with an agent, a review, a dismissal; None where it can."""

    run: str | None
    review: str | None
    dismissal: str | None


class ReviewScreen(ScrollingModal[Wanted]):
    """Shows lines, and below them what can be done; None leaves it as it is."""

    def __init__(self, title: str, lines: Iterable[Line], offers: Iterable[Offer[Wanted]]) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)
        self._offers = tuple(offers)

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box full"):
            yield Static(self._title, classes="title", markup=False)
            yield FoldedView(id="found")
            yield ChoiceList(self._offers)
            yield Static(
                "enter chooses, pgup/pgdn scroll, esc leaves it as it is", classes="keys", markup=False
            )

    def on_mount(self) -> None:
        """Show what was found; begin in the list."""
        self.read_widget.show(self._lines)
        self.query_one(ChoiceList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the choice."""
        self.give(self._offers[event.option_index].value)

    @property
    def read_widget(self) -> FoldedView:
        """What was found."""
        return self.query_one(FoldedView)


def fact_lines(facts: Iterable[tuple[str, str]]) -> Iterator[Line]:
    """Write facts below one another."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    yield from (Line(f"  {name:<{width}}  {clean_line(text, LONGEST)}") for name, text in rows)


def section_lines(sections: Iterable[tuple[str, Sequence[str]]]) -> Iterator[Line]:
    """Write sections one after the other, each indented below its title."""
    for title, texts in sections:
        yield from section(title, (Line(f"  {text}") for text in texts))
