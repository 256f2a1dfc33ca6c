"""Scrolling a text by page keys while something else, such as a list of choices, has the focus."""

from textual.binding import Binding, BindingType
from textual.widget import Widget

SCROLL_BINDINGS: list[BindingType] = [
    Binding("pageup", "scroll(-1)", "Page up", show=False, priority=True),
    Binding("pagedown", "scroll(1)", "Page down", show=False, priority=True),
    Binding("ctrl+home", "scroll_to(0)", "Beginning", show=False, priority=True),
    Binding("ctrl+end", "scroll_to(1)", "End", show=False, priority=True),
]
"""To be among the bindings of what uses ``ScrollsText``: Textual collects them from widgets only."""


class ScrollsText:
    """Scrolls ``read_widget``, whatever has the focus."""

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
