"""Searching a text in lines, such as those of a log."""

import re
from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input

from git_blackbird.tui.widgets.bars import SingleLineInput

SEARCH_BINDINGS: list[BindingType] = [
    Binding("slash", "search_text", "Search", show=False),
    Binding("n", "match(1)", "Next match", show=False),
    Binding("N", "match(-1)", "Match before", show=False),
]
"""To be among the bindings of what uses ``SearchesText``."""


def find_matches(text: str, needle: str) -> list[int]:
    """Return where the searched text begins in a text; case matters only if it has capital letters."""
    if not needle:
        return []
    pattern = re.compile(re.escape(needle), re.IGNORECASE if needle == needle.lower() else 0)
    return [match.start() for match in pattern.finditer(text)]


def line_with(needle: str, lines: Iterable[str], here: int, step: int) -> int | None:
    """Return the next line after ``here`` that has a text, going on at the other end; None for none."""
    found = [index for index, line in enumerate(lines) if find_matches(line, needle)]
    further = [index for index in found if (index - here) * step > 0] or found
    return further[0 if step > 0 else -1] if further else None


class SearchesText(Widget):
    """Searches lines, whatever has the focus. The last of the bases: styles come from the first."""

    _needle = ""

    def find(self, needle: str, step: int) -> bool:
        """Go to the next line that has a text, or the one before for -1; return whether one has it."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys for matches to others while nothing is searched."""
        del parameters
        return action != "match" or bool(self._needle)

    async def action_search_text(self) -> None:
        field = SearchField(self._search, self.screen.focused or self)
        await self.screen.mount(field)
        self.screen.set_focus(field)

    def _search(self, needle: str) -> None:
        self._needle = needle
        self.refresh_bindings()
        if needle:
            self.action_match(1)

    def action_match(self, step: int) -> None:
        """Go to the next match, or the one before."""
        if not self.find(self._needle, step):
            self.app.notify(f"no line has {self._needle}", severity="warning", markup=False)


class SearchField(SingleLineInput):
    """A text to search, at the bottom of the screen while it is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "End the search", show=False)]

    def __init__(self, search: Callable[[str], None], back: Widget) -> None:
        super().__init__(placeholder="search", classes="text-search")
        self._search = search
        self._back = back

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Search, and go back."""
        event.stop()
        self.action_close()
        self._search(event.value)

    def action_close(self) -> None:
        self._back.focus()
        _ = self.remove()
