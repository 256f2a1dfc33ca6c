"""Modal screens above the main screen: their base, a choice among a few items, and the help."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Generic, NamedTuple, TypeVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from git_blackbird.messages.display.checkpoint import StyledLine
from git_blackbird.model.base.sanitize import clean_line
from git_blackbird.tui.widgets.line_view import LONGEST, to_content
from git_blackbird.tui.widgets.scrolling import SCROLL_BINDINGS, ScrollsText

T = TypeVar("T")


class Modal(ModalScreen[T | None], Generic[T]):
    """A box with a title, a body and the keys; returns a result once, None when it is left with Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Back")]

    _is_dismissed = False

    def __init__(self, title: str, keys: str, size: str = "") -> None:
        super().__init__()
        self._title = title
        self._keys = keys
        self._box = f"box {size}".rstrip()

    def compose(self) -> ComposeResult:
        with Vertical(classes=self._box):
            yield Static(self._title, classes="title", markup=False)
            yield from self.compose_body()
            yield Static(self._keys, classes="keys", markup=False)

    def compose_body(self) -> ComposeResult:
        """Yield what is between the title and the keys."""
        raise NotImplementedError

    @property
    def has_result(self) -> bool:
        """Whether it has its result."""
        return self._is_dismissed

    def dismiss_once(self, result: T | None) -> None:
        """Close the screen with a result, unless it has one already."""
        if not self._is_dismissed:
            self._is_dismissed = True
            # Awaited in a handler of this screen, this would never return.
            _ = self.dismiss(result)

    def action_leave(self) -> None:
        self.dismiss_once(None)


class ScrollingModal(ScrollsText, Modal[T], Generic[T]):
    """Scrolls ``read_widget`` by page up and down, Ctrl+Home and Ctrl+End, whatever has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = SCROLL_BINDINGS


class ChoiceItem(NamedTuple, Generic[T]):
    """An item to choose; with a ``blocked_reason`` it is shown and cannot be chosen.

    ``takes_text``: a text that is typed at the list is meant for it.
    """

    value: T
    label: str
    remark: str = ""
    blocked_reason: str | None = None
    takes_text: bool = False


class ChoiceList(OptionList, Generic[T]):
    """The items; a digit moves the cursor to its line, j and k move it by one.

    Any other letter begins a text. From there on, no key of that text moves the cursor or chooses: the text
    is sent to the screen as ``Typed``, or Enter asks again where no item takes a text.
    """

    class Typed(Message):
        """A text was typed, or more of it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0) -> None:
        super().__init__(*_options(items), id="choices")
        self.items = items
        self._start = start
        self._typed = ""
        self._is_text = False

    def on_mount(self) -> None:
        self.highlighted = self._start

    def replace_items(self, items: Sequence[ChoiceItem[T]], chosen: int) -> None:
        """Show other items, with the cursor on the line ``chosen``."""
        self.items = items
        self.set_options(_options(items))
        self.highlighted = chosen

    @property
    def _text_index(self) -> int | None:
        items = enumerate(self.items)
        return next((index for index, item in items if item.takes_text and not item.blocked_reason), None)

    def end_text(self) -> None:
        """Let the next key choose again."""
        self._typed, self._is_text = "", False

    def on_key(self, event: events.Key) -> None:
        """Tell keys that move the cursor or have a meaning on the screen from a text."""
        if event.is_printable and event.character is not None:
            self._typed += event.character
            if not self._is_text and self._moves(event.key):
                event.stop()
            elif self._is_text or event.key not in self.screen.active_bindings:
                event.stop()
                self._take_text()
        elif self._is_text and event.key == "enter":
            event.stop()
            self._ask_again()
        else:
            self.end_text()

    def on_paste(self, event: events.Paste) -> None:
        """Take a pasted text like a typed one."""
        self._typed += event.text
        self._take_text()

    def _moves(self, key: str) -> bool:
        """Move the cursor if the key does that; a text for the item it moves to begins with the next key."""
        if key == "j":
            self.action_cursor_down()
        elif key == "k":
            self.action_cursor_up()
        elif key.isdecimal() and key != "0":
            index = int(key) - 1
            if index < len(self.items) and self.items[index].blocked_reason is None:
                self.highlighted = index
        else:
            return False
        if self.highlighted == self._text_index:
            self._typed = ""
        return True

    def _take_text(self) -> None:
        self._is_text = True
        if self._text_index is not None:
            self.highlighted = self._text_index
            self.post_message(self.Typed(self._typed))
            self._typed = ""

    def _ask_again(self) -> None:
        """Let the next Enter choose; with an item that takes the text, its screen is about to come up."""
        if self._text_index is None and self.highlighted is not None:
            self.end_text()
            label = self.items[self.highlighted].label
            self.notify(f"No choice here takes a text. Enter again chooses: {label}", markup=False)


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
        super().__init__(title, "enter chooses, esc goes back")
        self._items = items
        self._start = start

    def compose_body(self) -> ComposeResult:
        yield ChoiceList(self._items, self._start)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._items[event.option_index].value)


class HelpScreen(Modal[None]):
    """Lists the keys; Esc, ? and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("question_mark,q", "leave", "Back", show=False)]

    def __init__(self, lines: Iterable[StyledLine]) -> None:
        super().__init__("Keys", "esc goes back", "wide")
        self._lines = tuple(lines)

    def compose_body(self) -> ComposeResult:
        with VerticalScroll():
            yield Static(to_content(self._lines), markup=False)
