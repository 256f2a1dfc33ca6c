"""Modal screens above the main screen: their base, a choice among a few items, and the help."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from git_blackbird.messages.display.checkpoint import StyledLine
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.tui.widgets.line_view import LONGEST, to_content

T = TypeVar("T")


class Modal(ModalScreen[T | None], Generic[T]):
    """Returns a result once; None when it is left with Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    _is_dismissed = False

    def dismiss_once(self, result: T | None) -> None:
        """Close the screen with a result, unless it has one already."""
        if not self._is_dismissed:
            self._is_dismissed = True
            # Awaited in a handler of this screen, this would never return.
            _ = self.dismiss(result)

    def action_leave(self) -> None:
        self.dismiss_once(None)


class ScrollingModal(Modal[T], Generic[T]):
    """Scrolls ``read_widget`` by page up and down, Ctrl+Home and Ctrl+End, whatever has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
        Binding("ctrl+home", "scroll_to(0)", "Top", show=False, priority=True),
        Binding("ctrl+end", "scroll_to(1)", "End", show=False, priority=True),
    ]

    @property
    def read_widget(self) -> Widget:
        """The widget with the text."""
        raise NotImplementedError

    def action_scroll(self, pages: int) -> None:
        widget = self.read_widget
        widget.scroll_relative(y=pages * max(1, widget.size.height - 1), animate=False)

    def action_scroll_to(self, end: int) -> None:
        """Scroll to the beginning (0) or the end (1)."""
        widget = self.read_widget
        widget.scroll_to(y=end * widget.max_scroll_y, animate=False)


class ChoiceItem(NamedTuple, Generic[T]):
    """An item to choose; with a ``blocked_reason`` it is shown and cannot be chosen."""

    value: T
    label: str
    remark: str = ""
    blocked_reason: str | None = None


class ChoiceList(OptionList, Generic[T]):
    """The items; a digit moves the cursor to its line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        *(Binding(str(digit), f"jump({digit})", show=False) for digit in range(1, 10)),
    ]

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0) -> None:
        super().__init__(*_options(items), id="choices")
        self.items = items
        self._start = start

    def on_mount(self) -> None:
        self.highlighted = self._start

    def replace_items(self, items: Sequence[ChoiceItem[T]], chosen: int) -> None:
        """Show other items, with the cursor on the line ``chosen``."""
        self.items = items
        self.set_options(_options(items))
        self.highlighted = chosen

    def action_jump(self, number: int) -> None:
        """Move the cursor to a line by its number."""
        if number <= len(self.items) and self.items[number - 1].blocked_reason is None:
            self.highlighted = number - 1


def _options(items: Iterable[ChoiceItem[T]]) -> Iterator[Option]:
    for number, item in enumerate(items, start=1):
        yield Option(_line(number, item), id=str(number - 1), disabled=item.blocked_reason is not None)


def _line(number: int, item: ChoiceItem[T]) -> Text:
    line = Text(f"{number}. {item.label}")
    remark = clean_line(item.blocked_reason or item.remark, LONGEST)
    return line.append(f"  {remark}", "dim") if remark else line


class ChoiceModal(Modal[T], Generic[T]):
    """Asks for one of a few items; None when it is left."""

    def __init__(self, title: str, items: Sequence[ChoiceItem[T]], start: int = 0) -> None:
        super().__init__()
        self._title = title
        self._items = items
        self._start = start

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Static(self._title, classes="title", markup=False)
            yield ChoiceList(self._items, self._start)
            yield Static("enter chooses, esc goes back", classes="keys", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._items[event.option_index].value)


class HelpScreen(Modal[None]):
    """Lists the keys; Esc, ? and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,q", "leave", "Back", show=False)]

    def __init__(self, lines: Iterable[StyledLine]) -> None:
        super().__init__()
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        with Vertical(classes="box wide"):
            yield Static("Keys", classes="title")
            with VerticalScroll():
                yield Static(to_content(self._lines), markup=False)
            yield Static("esc goes back", classes="keys")
