"""Base classes of the screens above the main screen."""

from typing import ClassVar, Generic, TypeVar

from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widget import Widget

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
        """Close the screen without a result."""
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
        """Scroll by pages."""
        widget = self.read_widget
        widget.scroll_relative(y=pages * max(1, widget.size.height - 1), animate=False)

    def action_scroll_to(self, end: int) -> None:
        """Scroll to the beginning (0) or the end (1)."""
        widget = self.read_widget
        widget.scroll_to(y=end * widget.max_scroll_y, animate=False)
