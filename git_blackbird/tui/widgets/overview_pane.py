"""The overview of a change: the findings of its reviewers lead to their lines in the diff."""

from typing import ClassVar

from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip

from git_blackbird.model.run.findings import Finding, MinorIssue
from git_blackbird.tui.widgets.line_view import TextPane, wrapped_line

_CURSOR = RichStyle(reverse=True)


class OverviewPane(TextPane):
    """Shows lines; up and down go from one finding to the next, or scroll where none is in view."""

    class Chosen(Message):
        """The person wants to see where a finding is."""

        def __init__(self, issue: Finding | MinorIssue) -> None:
            super().__init__()
            self.issue = issue

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", "Finding before, or up", show=False),
        Binding("down,j", "step(1)", "Next finding, or down", show=False),
        Binding("enter", "choose", "Go to the finding in the diff", show=False),
    ]

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._stops: dict[int, Finding | MinorIssue] = {}
        self._row = -1

    def _wrap(self) -> None:
        super()._wrap()
        self._stops, row = {}, 0
        for line in self._lines:
            for span in line.spans:
                if isinstance(span.about, Finding | MinorIssue):
                    self._stops[row] = span.about
            row += sum(1 for _ in wrapped_line(line, self._width))

    @property
    def _current(self) -> int | None:
        """The row of the finding under the cursor: the first in view, unless another in view was gone to."""
        top = round(self.scroll_y)
        shown = [row for row in self._stops if top <= row < top + self.size.height]
        return self._row if self._row in shown else next(iter(shown), None)

    def action_step(self, steps: int) -> None:
        """Go to the next finding within a line of the view, or scroll."""
        current, top = self._current, round(self.scroll_y)
        rows = [row for row in self._stops if current is not None and (row - current) * steps > 0]
        following = min(rows, key=lambda row: row * steps, default=None)
        if following is not None and top <= following < top + self.size.height:
            self._row = following
            self.refresh()
        else:
            self.scroll_relative(y=steps, animate=False)

    def action_choose(self) -> None:
        if self._current is not None:
            self.post_message(self.Chosen(self._stops[self._current]))

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the finding that is clicked, as elsewhere a click goes to a choice."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.y + round(self.scroll_y) in self._stops:
            self._row = offset.y + round(self.scroll_y)
            self.refresh()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        is_current = self.has_focus and y + self.scroll_offset.y == self._current
        return strip.apply_style(_CURSOR) if is_current else strip
