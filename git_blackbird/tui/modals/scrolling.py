"""A screen over the others with more to read than fits, beside what is chosen there."""

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from git_blackbird.tui.modals.modal import Modal

T = TypeVar("T")


class ScrollingModal(Modal[T], Generic[T]):
    """Page up and down, ctrl+home and ctrl+end scroll what is read, wherever the cursor is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll(-1)", "Up", show=False, priority=True),
        Binding("pagedown", "scroll(1)", "Down", show=False, priority=True),
        Binding("ctrl+home", "scroll_to(0)", "Top", show=False, priority=True),
        Binding("ctrl+end", "scroll_to(1)", "End", show=False, priority=True),
    ]

    @property
    def read_widget(self) -> Widget:
        """What is read."""
        raise NotImplementedError

    def action_scroll(self, pages: int) -> None:
        """Scroll it."""
        shown = self.read_widget
        shown.scroll_relative(y=pages * max(1, shown.size.height - 1), animate=False)

    def action_scroll_to(self, end: int) -> None:
        """Scroll it to its beginning, or to its end."""
        shown = self.read_widget
        shown.scroll_to(y=end * shown.max_scroll_y, animate=False)
