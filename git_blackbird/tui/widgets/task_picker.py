"""Pick a task by typing: a line, and below it the tasks whose ids or titles have all the words."""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from git_blackbird.messages.document import Span
from git_blackbird.model.base.ids import TaskId
from git_blackbird.tui.widgets.bars import SingleLineInput

_MOST_SHOWN = 200


class PickItem(NamedTuple):
    """A line to pick: a task, or None for something else, such as the top of the plan."""

    task_id: TaskId | None
    text: str
    is_marked: bool = False

    def matches(self, words: Sequence[str]) -> bool:
        """Whether the line has all these words, which are casefolded."""
        text = self.text.casefold()
        return all(word in text for word in words)


class TaskPicker(Vertical):
    """Enter picks the line under the cursor; letters search, up and down move."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "Up", show=False, priority=True),
        Binding("down", "move(1)", "Down", show=False, priority=True),
        Binding("pageup", "move(-10)", "Up", show=False, priority=True),
        Binding("pagedown", "move(10)", "Down", show=False, priority=True),
    ]

    class Picked(Message):
        """A line was picked."""

        def __init__(self, item: PickItem) -> None:
            super().__init__()
            self.item = item

    def __init__(self, items: Sequence[PickItem]) -> None:
        super().__init__()
        self._items = items
        self._found: Sequence[PickItem] = ()

    def compose(self) -> ComposeResult:
        yield SingleLineInput(placeholder="part of an id or title")
        found = OptionList(id="found", markup=False)
        found.can_focus = False
        yield found

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search()

    def replace_items(self, items: Sequence[PickItem]) -> None:
        """Show other lines; the cursor stays on its task."""
        chosen = self._current
        self._items = items
        self._search(None if chosen is None else chosen.task_id)

    @property
    def _list(self) -> OptionList:
        return self.query_one("#found", OptionList)

    @property
    def _current(self) -> PickItem | None:
        index = self._list.highlighted
        return None if index is None or index >= len(self._found) else self._found[index]

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._search()

    def _search(self, chosen: TaskId | None = None) -> None:
        words = self.query_one(Input).value.casefold().split()
        matching = [item for item in self._items if item.matches(words)]
        self._found = matching[:_MOST_SHOWN]
        options = [Option(_line(item)) for item in self._found]
        more = len(matching) - len(self._found)
        note = f"and {more} more: type more of an id or title" if more else "nothing has that"
        if more or not options:
            options.append(Option(Text(note, "dim"), disabled=True))
        self._list.set_options(options)
        ids = [item.task_id for item in self._found]
        self._list.highlighted = (ids.index(chosen) if chosen in ids else 0) if ids else None

    def action_move(self, lines: int) -> None:
        if self._found:
            here = self._list.highlighted or 0
            self._list.highlighted = max(0, min(here + lines, len(self._found) - 1))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._current is not None:
            self.post_message(self.Picked(self._current))


def _line(item: PickItem) -> Text:
    return Text(Span(item.text).text, "bold" if item.is_marked else "")
