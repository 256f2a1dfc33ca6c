"""A choice among a few items, as a list or in a row."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from git_blackbird.messages.document import Span

# Textual takes styles and component classes from the first base that is a widget.
if TYPE_CHECKING:
    _Mixed = Widget
else:

    class _Mixed:
        pass


T = TypeVar("T")
NO_DIGIT = -1


class ChoiceItem(NamedTuple, Generic[T]):
    """An item to choose; with a ``blocked_reason`` it is shown and cannot be chosen.

    ``digit`` is its key; that of its place where none is given, and no key where it is ``NO_DIGIT``.
    """

    value: T
    label: str
    remark: str = ""
    blocked_reason: str | None = None
    digit: int | None = None


def _digits(items: Iterable[ChoiceItem[T]]) -> Iterator[int]:
    return (place if item.digit is None else item.digit for place, item in enumerate(items, start=1))


def _labels(items: Iterable[ChoiceItem[T]]) -> Iterator[str]:
    """Yield each item's label behind its digit."""
    listed = list(items)
    for item, digit in zip(listed, _digits(listed), strict=True):
        yield Span(item.label if digit == NO_DIGIT else f"{digit}. {item.label}").text


class Choices(_Mixed, Generic[T]):
    """What a list and a row of items have in common: a digit moves the cursor to its item, j and k by one.

    Other letters do nothing here: they are keys of the screen, or it says that they are none.
    """

    items: Sequence[ChoiceItem[T]]

    def place_cursor(self, index: int) -> None:
        """Put the cursor on an item."""
        raise NotImplementedError

    def index_of(self, digit: str) -> int | None:
        """Return the index of the item that a digit chooses; None if it chooses none."""
        digits = zip(self.items, _digits(self.items), strict=True)
        possible = (str(number) == digit and item.blocked_reason is None for item, number in digits)
        return next((index for index, is_chosen in enumerate(possible) if is_chosen), None)

    def go_to(self, digit: str) -> bool:
        """Put the cursor on the item of a digit; return whether there is one."""
        index = self.index_of(digit)
        if index is not None:
            self.place_cursor(index)
        return index is not None


class ChoiceList(Choices[T], OptionList, Generic[T]):
    """The items, one below the other."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
        *(Binding(digit, f"go_to('{digit}')", show=False) for digit in "1234567890"),
    ]

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0) -> None:
        super().__init__(*_options(items), id="choices")
        self.items = items
        self._start = start

    def on_mount(self) -> None:
        self.highlighted = self._start

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave a digit that chooses nothing to whoever says so."""
        return action != "go_to" or self.index_of(str(parameters[0])) is not None

    def action_go_to(self, digit: str) -> None:
        self.go_to(digit)

    def on_click(self, event: events.Click) -> None:
        """Go to the item that was clicked, as its digit does; Textual would take it."""
        event.prevent_default()
        index = event.style.meta.get("option")
        if index is not None and self.items[index].blocked_reason is None:
            self.place_cursor(index)

    def replace_items(self, items: Sequence[ChoiceItem[T]], chosen: int) -> None:
        """Show other items, with the cursor on the line ``chosen``."""
        self.items = items
        self.set_options(_options(items))
        self.highlighted = chosen

    def place_cursor(self, index: int) -> None:
        self.highlighted = index


def _options(items: Sequence[ChoiceItem[T]]) -> Iterator[Option]:
    for index, (item, label) in enumerate(zip(items, _labels(items), strict=True)):
        yield Option(_line(label, item), id=str(index), disabled=item.blocked_reason is not None)


def _line(label: str, item: ChoiceItem[T]) -> Text:
    shown, remark = Text(label), Span(item.blocked_reason or item.remark).text
    return shown.append(f"  {remark}", "dim") if remark else shown


class ChoiceRow(Choices[T], Widget, Generic[T], can_focus=True):
    """The items beside each other, in as many lines as they need; the cursor stops at the first and last."""

    class Chosen(Message):
        """An item was chosen."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up,k", "move(-1)", "Choice before", show=False),
        Binding("right,down,j", "move(1)", "Next choice", show=False),
        Binding("home", "jump(0)", "First choice", show=False),
        Binding("end", "jump(-1)", "Last choice", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    cursor: reactive[int] = reactive(0)

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0, *, id: str = "choices") -> None:
        super().__init__(id=id)
        self.items = items
        self.set_reactive(ChoiceRow.cursor, start)

    def place_cursor(self, index: int) -> None:
        self.cursor = index

    def replace_items(self, items: Sequence[ChoiceItem[T]], chosen: int) -> None:
        """Show other items, with the cursor on the one at ``chosen``."""
        self.items = items
        self.cursor = chosen
        self.refresh(layout=True)

    def action_move(self, steps: int) -> None:
        """Move the cursor to another item that can be chosen."""
        possible = [index for index, item in enumerate(self.items) if item.blocked_reason is None]
        further = [index for index in possible if (index - self.cursor) * steps > 0]
        if further:
            # Beyond the last, Enter must not come upon an approval.
            self.cursor = further[0 if steps > 0 else -1]

    def action_jump(self, index: int) -> None:
        self.place_cursor(index % len(self.items))

    def action_choose(self) -> None:
        if self.items[self.cursor].blocked_reason is None:
            self.post_message(self.Chosen(self.cursor))

    def on_click(self, event: events.Click) -> None:
        """Go to the item that was clicked, as its digit does."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for index, (line, column, label) in enumerate(self._places(self.size.width)):
            if line == offset.y and column <= offset.x < column + cell_len(label):
                if self.items[index].blocked_reason is None:
                    self.cursor = index
                return

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return max((line for line, _, _ in self._places(width)), default=0) + 1

    def render(self) -> Content:
        lines: list[list[Content]] = []
        for index, (line, _, label) in enumerate(self._places(self.size.width)):
            if line == len(lines):
                lines.append([])
            mark = ">" if index == self.cursor else " "
            lines[-1].append(Content.styled(mark + label[1:], self._style(index)))
        return Content("\n").join(Content("").join(parts) for parts in lines)

    def _style(self, index: int) -> str:
        if self.items[index].blocked_reason is not None:
            return "dim"
        if index != self.cursor:
            return ""
        return "bold reverse" if self.has_focus else "bold underline"

    def _places(self, width: int) -> list[tuple[int, int, str]]:
        """Return line, column and text of each item."""
        places: list[tuple[int, int, str]] = []
        line = column = 0
        for text in _labels(self.items):
            label = f" {text} "
            if column and column + cell_len(label) > width:
                line, column = line + 1, 0
            places.append((line, column, label))
            column += cell_len(label)
        return places
