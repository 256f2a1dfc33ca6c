"""Panes of which one is shown; their names stand in the border."""

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import ContentSwitcher

_GAP = " "
_WIDE = 54
_BEFORE = 2
"""Columns of the border before its title."""


class Tab(NamedTuple):
    """The id of a pane, and its name."""

    id: str
    name: str


class TabbedPane(ContentSwitcher):
    """Shows one of several panes; a click on a name shows that one."""

    class Changed(Message):
        """Another pane is shown."""

    def __init__(self, tabs: Sequence[Tab], *, id: str) -> None:
        super().__init__(id=id, initial=tabs[0].id)
        self._tabs = tabs

    @property
    def shown(self) -> str:
        """The id of the pane that is shown."""
        return self.current or self._tabs[0].id

    def on_resize(self) -> None:
        self._show_names()

    def switch_to(self, tab_id: str) -> None:
        """Show a pane."""
        if tab_id != self.shown:
            self.current = tab_id
            self._show_names()
            self.post_message(self.Changed())

    def _show_names(self) -> None:
        names = (
            Content.styled(self._label(number), "bold reverse" if tab.id == self.shown else "")
            for number, tab in enumerate(self._tabs, start=1)
        )
        self.border_title = Content(_GAP).join(names).markup

    def _label(self, number: int) -> str:
        name = self._tabs[number - 1].name
        return f" {number} {name} " if self.size.width >= _WIDE else f"{number}{name}"

    def on_click(self, event: events.Click) -> None:
        """Show the pane whose name was clicked."""
        offset = event.screen_offset - self.region.offset
        if offset.y != 0:
            return
        right = _BEFORE
        for number, tab in enumerate(self._tabs, start=1):
            right += len(self._label(number)) + len(_GAP)
            if offset.x < right:
                self.switch_to(tab.id)
                return
