"""Modal screens above the main screen: their base, a choice among a few items, and the help."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static

from git_blackbird.messages.display.dialogue import Confirm
from git_blackbird.messages.document import Line, Style, line, styled, width_of
from git_blackbird.tui.keys import EVERYWHERE, KEY_COLUMNS
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.choices import ChoiceItem, ChoiceList
from git_blackbird.tui.widgets.line_view import WrappedView, to_content, whole_lines
from git_blackbird.tui.widgets.scrolling import SCROLL_BINDINGS, ScrollsText

T = TypeVar("T")

# In a box of the usual width, which app.tcss has.
_BOX_COLUMNS = 56


class Modal(ModalScreen[T | None], Generic[T]):
    """A box with a title, a body and the keys; returns a result once, None when it is left with Esc."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Back"),
        Binding("q", "back", "Back", show=False),
        *EVERYWHERE,
        Binding("ctrl+p", "app.command_palette", "Find an action", show=False, priority=True),
    ]

    _is_dismissed = False

    def __init__(self, title: str, keys: str, size: str = "") -> None:
        super().__init__(classes="covering" if size == "full" else None)
        self._title = title
        self._keys = keys
        self._box = f"box {size}".rstrip()

    def compose(self) -> ComposeResult:
        with Vertical(classes=self._box):
            yield from self.compose_head()
            yield from self.compose_body()
            yield Static(self._keys, classes="keys", markup=False)

    def compose_head(self) -> ComposeResult:
        """Yield the title, and what is above it."""
        yield Static(to_content([line(self._title)]), classes="title")

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

    def action_back(self) -> None:
        """Do what Esc does, where a letter is no text."""
        self.action_leave()


class ScrollingModal(ScrollsText, Modal[T], Generic[T]):
    """Scrolls ``read_widget`` by page up and down, Ctrl+Home and Ctrl+End, whatever has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = SCROLL_BINDINGS


class ChoiceModal(Modal[T], Generic[T]):
    """Asks for one of a few items; None when it is left."""

    def __init__(self, title: str, items: Sequence[ChoiceItem[T]], start: int = 0, size: str = "") -> None:
        super().__init__(title, "enter chooses, esc goes back", size)
        self._items = items
        self._start = start

    def compose_body(self) -> ComposeResult:
        yield ChoiceList(self._items, self._start)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss_once(self._items[event.option_index].value)


class ConfirmModal(ScrollingModal[bool], ChoiceModal[bool]):
    """Asks what a dialogue wants confirmed, with the cursor on no; the remarks scroll above the question."""

    def __init__(self, step: Confirm) -> None:
        items = [ChoiceItem(False, step.no), ChoiceItem(True, step.yes)]
        is_long = any(width_of(remark.text) > _BOX_COLUMNS for remark in step.remarks)
        super().__init__(step.question, items, size="wide" if is_long else "")
        self._remarks = step.remarks

    def compose_head(self) -> ComposeResult:
        with VerticalScroll(classes="remarks", can_focus=False) as remarks:
            remarks.display = bool(self._remarks)
            yield Static(to_content(whole_lines(self._remarks)), classes="title", markup=False)
        yield from super().compose_head()

    @property
    def read_widget(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)


class KeyLines(WrappedView, can_focus=True):
    """The keys that the help lists."""

    hang = KEY_COLUMNS + 1


class HelpScreen(Modal[None]):
    """Lists keys; ``/`` searches them, Esc, ``?`` and ``q`` close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark", "leave", "Back", id="help", show=False),
        Binding("slash", "search", "Search", show=False),
    ]

    def __init__(self, lines: Iterable[Line]) -> None:
        super().__init__("Keys", "/ searches, esc goes back", "full")
        self._lines = tuple(lines)
        self._list = KeyLines(id="key-lines")

    def compose(self) -> ComposeResult:
        """Yield one widget: each takes time that people wait for where agents keep the machine busy."""
        self._list.border_title, self._list.border_subtitle = self._title, self._keys
        self._list.show(self._lines)
        yield self._list

    async def action_search(self) -> None:
        if not self.query(SingleLineInput):
            field = SingleLineInput(placeholder="part of a key or of what it does")
            await self.mount(field, before=self._list)
        # At once: the next key belongs to it.
        self.set_focus(self.query_one(SingleLineInput))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the lines that have the text, each with the command that belongs to it."""
        wanted = event.value.casefold()
        shown = [line for line in self._lines if wanted in line.text.casefold()]
        self._list.show(shown or [styled("no key does that", Style.FAINT)])

    def on_input_submitted(self) -> None:
        """Go on with the keys that were found."""
        self._list.focus()
