"""A choice among a few items, as a list or in a row; a text that is typed at it never chooses."""

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

from git_blackbird.model.base.sanitize import clean_line

# Textual takes styles and component classes from the first base that is a widget.
if TYPE_CHECKING:
    _Mixed = Widget
else:

    class _Mixed:
        pass


T = TypeVar("T")
_LONGEST = 2_000
NO_DIGIT = -1


class ChoiceItem(NamedTuple, Generic[T]):
    """An item to choose; with a ``blocked_reason`` it is shown and cannot be chosen.

    ``takes_text``: a text that is typed at the list is meant for it. ``digit`` is its key; that of its place
    where none is given, and no key where it is ``NO_DIGIT``.
    """

    value: T
    label: str
    remark: str = ""
    blocked_reason: str | None = None
    takes_text: bool = False
    digit: int | None = None


def _labels(items: Iterable[ChoiceItem[T]]) -> Iterator[str]:
    """Yield each item's label behind its digit."""
    for place, item in enumerate(items, start=1):
        digit = place if item.digit is None else item.digit
        yield item.label if digit == NO_DIGIT else f"{digit}. {item.label}"


class Choices(_Mixed, Generic[T]):
    """What a list and a row of items have in common: a digit moves the cursor to its item, j and k by one.

    Any other letter that is no key of the screen begins a text. From there on, no key of that text moves the
    cursor or chooses: the text is sent to the screen as ``Typed``. Where no item takes a text the screen is
    told that it is ``Ignored``, and Enter asks again.
    """

    keeps_keys: ClassVar[bool] = False
    """Whether letters that are keys remain keys after others that are none."""

    class Typed(Message):
        """A text was typed, or more of it."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Ignored(Message):
        """A text was typed, ``character`` just now, or pasted, and nothing here takes one."""

        def __init__(self, character: str) -> None:
            super().__init__()
            self.character = character

    items: Sequence[ChoiceItem[T]]
    _typed = ""
    _is_text = False

    def place_cursor(self, index: int) -> None:
        """Put the cursor on an item."""
        raise NotImplementedError

    def move_cursor(self, steps: int) -> None:
        """Move the cursor to another item that can be chosen."""
        raise NotImplementedError

    @property
    def chosen_index(self) -> int | None:
        """Where the cursor is."""
        raise NotImplementedError

    @property
    def takes_text(self) -> bool:
        """Whether a text that is typed is meant for one of the items."""
        return self._text_index is not None

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
            may_be_key = self.keeps_keys or not self._is_text
            if may_be_key and self._moves(event.key):
                event.stop()
            elif not may_be_key or event.key not in self.screen.active_bindings:
                event.stop()
                self._take_text(event.character)
        elif self._is_text and event.key == "enter":
            event.stop()
            self._ask_again()
        else:
            self.end_text()

    def on_paste(self, event: events.Paste) -> None:
        """Take a pasted text like a typed one."""
        self._typed += event.text
        self._take_text()

    def go_to(self, digit: str) -> bool:
        """Put the cursor on the item of a digit; return whether there is one."""
        for index, item in enumerate(self.items):
            if item.blocked_reason is None and int(digit) == (
                index + 1 if item.digit is None else item.digit
            ):
                self.place_cursor(index)
                return True
        return False

    def _moves(self, key: str) -> bool:
        """Move the cursor if the key does that; a text for the item it moves to begins with the next key."""
        if key in {"j", "k"}:
            self.move_cursor(1 if key == "j" else -1)
        elif key.isdecimal():
            if not self.go_to(key) and not self.takes_text:
                self.post_message(self.Ignored(key))
        else:
            return False
        if self.chosen_index == self._text_index:
            self._typed = ""
        return True

    def _take_text(self, character: str = "") -> None:
        self._is_text = True
        if self._text_index is None:
            self.post_message(self.Ignored(character))
            return
        self.place_cursor(self._text_index)
        self.post_message(self.Typed(self._typed))
        self._typed = ""

    def _ask_again(self) -> None:
        """Let the next Enter choose; with an item that takes the text, its screen is about to come up."""
        if self._text_index is None and self.chosen_index is not None:
            self.end_text()
            label = self.items[self.chosen_index].label
            self.notify(f"No choice here takes a text. Enter again chooses: {label}")


class ChoiceList(Choices[T], OptionList, Generic[T]):
    """The items, one below the other."""

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0) -> None:
        super().__init__(*_options(items), id="choices")
        self.items = items
        self._start = start

    def on_mount(self) -> None:
        self.highlighted = self._start

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

    @property
    def chosen_index(self) -> int | None:
        return self.highlighted

    def place_cursor(self, index: int) -> None:
        self.highlighted = index

    def move_cursor(self, steps: int) -> None:
        if steps > 0:
            self.action_cursor_down()
        else:
            self.action_cursor_up()


def _options(items: Sequence[ChoiceItem[T]]) -> Iterator[Option]:
    for index, (item, label) in enumerate(zip(items, _labels(items), strict=True)):
        yield Option(_line(label, item), id=str(index), disabled=item.blocked_reason is not None)


def _line(label: str, item: ChoiceItem[T]) -> Text:
    line = Text(label)
    remark = clean_line(item.blocked_reason or item.remark, _LONGEST)
    return line.append(f"  {remark}", "dim") if remark else line


class ChoiceRow(Choices[T], Widget, Generic[T], can_focus=True):
    """The items beside each other, in as many lines as they need; the cursor stops at the first and last."""

    keeps_keys = True

    class Chosen(Message):
        """An item was chosen."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "move(-1)", "Choice before", show=False),
        Binding("right,down", "move(1)", "Next choice", show=False),
        Binding("home", "jump(0)", "First choice", show=False),
        Binding("end", "jump(-1)", "Last choice", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    cursor: reactive[int] = reactive(0)

    def __init__(self, items: Sequence[ChoiceItem[T]], start: int = 0, *, id: str = "choices") -> None:  # noqa: A002
        super().__init__(id=id)
        self.items = items
        self.set_reactive(ChoiceRow.cursor, start)

    @property
    def chosen_index(self) -> int | None:
        return self.cursor

    def place_cursor(self, index: int) -> None:
        self.cursor = index

    def move_cursor(self, steps: int) -> None:
        possible = [index for index, item in enumerate(self.items) if item.blocked_reason is None]
        further = [index for index in possible if (index - self.cursor) * steps > 0]
        if further:
            # Beyond the last, Enter must not come upon an approval.
            self.cursor = further[0 if steps > 0 else -1]

    def action_move(self, steps: int) -> None:
        self.move_cursor(steps)

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
