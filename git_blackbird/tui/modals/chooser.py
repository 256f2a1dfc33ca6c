"""One of a few: by arrows, j and k, or its digit, then Enter."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from git_blackbird.tui.modals.modal import Modal

T = TypeVar("T")


class Offer(NamedTuple, Generic[T]):
    """What may be chosen; with an obstacle it is shown and cannot be."""

    value: T
    label: str
    remark: str = ""
    obstacle: str | None = None


class ChoiceList(OptionList, Generic[T]):
    """The list; a digit puts the cursor on its line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        *(Binding(str(digit), f"jump({digit})", show=False) for digit in range(1, 10)),
    ]

    def __init__(self, offers: Sequence[Offer[T]], start: int = 0) -> None:
        super().__init__(*_options(offers), id="choices")
        self.offers = offers
        self._start = start

    def on_mount(self) -> None:
        """Begin at what counts now."""
        self.highlighted = self._start

    def renew(self, offers: Sequence[Offer[T]], chosen: int) -> None:
        """Offer something else, with the cursor on the line ``chosen``."""
        self.offers = offers
        self.set_options(_options(offers))
        self.highlighted = chosen

    def action_jump(self, number: int) -> None:
        """Put the cursor on a line by its number."""
        if number <= len(self.offers) and self.offers[number - 1].obstacle is None:
            self.highlighted = number - 1


def _options(offers: Iterable[Offer[T]]) -> Iterator[Option]:
    for number, offer in enumerate(offers, start=1):
        yield Option(_line(number, offer), id=str(number - 1), disabled=offer.obstacle is not None)


def _line(number: int, offer: Offer[T]) -> Text:
    line = Text(f"{number}. {offer.label}")
    remark = offer.obstacle or offer.remark
    return line.append(f"  {remark}", "dim") if remark else line


class Chooser(Modal[T], Generic[T]):
    """Asks for one of a few; None when it is left."""

    def __init__(self, title: str, offers: Sequence[Offer[T]], start: int = 0) -> None:
        super().__init__()
        self._title = title
        self._offers = offers
        self._start = start

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        with Vertical(classes="box"):
            yield Static(self._title, classes="title", markup=False)
            yield ChoiceList(self._offers, self._start)
            yield Static("enter chooses, esc goes back", classes="keys", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take the choice."""
        self.give(self._offers[event.option_index].value)
