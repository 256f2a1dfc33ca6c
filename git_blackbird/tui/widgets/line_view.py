"""Styled lines, and views of any number of them, such as logs: only visible lines are drawn."""

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Protocol, runtime_checkable

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.style import Style as VisualStyle

from git_blackbird.messages.document import Document, Line, Section, Style, Table, aligned, styled, wrapped
from git_blackbird.tui.widgets.searching import SEARCH_BINDINGS, SearchesText, line_with

STYLES = {
    Style.PLAIN: "",
    Style.HEADING: "bold",
    Style.ADDED: "$text-success",
    Style.REMOVED: "$text-error",
    Style.PLACE: "$text-secondary",
    Style.WARNING: "$text-warning",
    Style.FAINT: "dim",
    Style.COMMAND: "",
    Style.FRAME: "",
    Style.FAULT: "$text-error",
    Style.DONE: "$text-success",
    Style.READY: "$text-primary bold",
    Style.WORKING: "$text-secondary bold",
    Style.WAITING: "$text-warning bold",
    Style.FAILED: "$text-error bold",
    Style.BLOCKED: "dim",
}
LONGEST = 2_000
LONGEST_TEXT = 50_000


def to_content(lines: Iterable[Line]) -> Content:
    """Return the lines as content; a line of more than ``LONGEST`` characters is cut."""
    return Content("\n").join(_content(line.part(0, LONGEST)) for line in lines)


def _content(line: Line) -> Content:
    return Content("").join(Content.styled(span.text, STYLES[span.style]) for span in line.spans)


def drawn_style(style: Style) -> RichStyle:
    """Return how a style is drawn in the theme of the application, for widgets that draw line by line."""
    return VisualStyle.parse(STYLES[style]).rich_style


def whole_lines(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield all of a text; lines longer than can be drawn are split."""
    for one in lines:
        starts = range(0, max(1, len(one.text)), LONGEST)
        yield from (one.part(start, start + LONGEST) for start in starts)


def document_lines(document: Document) -> Iterator[Line]:
    """Yield the lines of a document; what is in a section is indented below a blank line and its title."""
    for part in document:
        if isinstance(part, Section):
            title = part.title[:1].upper() + part.title[1:]
            yield from titled(title, (one.behind("  ") for one in document_lines(part.parts)))
        else:
            yield from aligned(part, None, cell_len) if isinstance(part, Table) else (part,)


def titled(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines below a heading and a blank line, as they are; nothing if there are none."""
    rest = iter(lines)
    first = next(rest, None)
    if first is not None:
        yield styled("")
        yield styled(title, Style.HEADING)
        yield first
        yield from rest


@runtime_checkable
class Copies(Protocol):
    """A widget that has a text to copy."""

    @property
    def copied_text(self) -> str:
        """The text."""


class LineView(ScrollView, can_focus=False):
    """Shows lines without wrapping them; scrolls both ways.

    Textual's Log has one style, and its RichLog renders every line when it is written.
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._rows: Sequence[Line] = (styled("reading...", Style.FAINT),)
        self._found: int | None = None
        self._base_style = RichStyle()

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines, scrolled to the first one."""
        self._rows = lines
        columns = _columns(line.text for line in lines)
        self.virtual_size = Size(columns, len(lines))
        self.scroll_home(animate=False)
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        # Textual takes as long to find it as to draw a line.
        self._base_style = self.rich_style
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._rows):
            return Strip.blank(width, self._base_style)
        line = self._rows[top + y]
        base = RichStyle(reverse=top + y == self._found)
        segments = [Segment(span.text, drawn_style(span.style) + base) for span in line.without_tabs().spans]
        strip = Strip(segments)
        return strip.crop_extend(left, left + width, None).apply_style(self._base_style)

    def find(self, needle: str, step: int) -> bool:
        """Show the next row that has a text, or the one before; return whether one has it."""
        here = self.scroll_offset.y - 1 if self._found is None else self._found
        self._found = line_with(needle, (row.text for row in self._rows), here, step)
        self.refresh()
        if self._found is not None:
            self.scroll_to(y=self._found - self.size.height // 3, animate=False)
        return self._found is not None


class WrappedView(LineView):
    """Shows lines and wraps them; scrolls up and down."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    hang: ClassVar[int] = 0
    """The columns by which what is wrapped is indented at least."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._subject: str | None = None
        self._width = 0

    def show(self, lines: Iterable[Line], subject: str | None = None) -> None:
        """Show lines from the first one; those about the same subject as before keep the scroll position."""
        self._lines, self._found = list(lines), None
        self._wrap()
        if subject is None or subject != self._subject:
            self.scroll_home(animate=False)
        self._subject = subject

    @property
    def copied_text(self) -> str:
        """All lines."""
        return "\n".join(line.text for line in self._lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        # It may be drawn before it is told of its size.
        if self._width != self.scrollable_content_region.width:
            self._wrap()
        return super().render_lines(crop)

    def action_page_down(self) -> None:
        # The key may come before the layout that shows this pane.
        if self.scrollable_content_region.height:
            super().action_page_down()
        else:
            self.call_after_refresh(super().action_page_down)

    def on_resize(self, event: events.Resize) -> None:
        del event
        if self._width != self.scrollable_content_region.width:
            self._wrap()

    def _wrap(self) -> None:
        self._width = self.scrollable_content_region.width
        # Before it is laid out there is nothing to see.
        lines = self._lines if self._width else ()
        self._rows = [row for line in lines for row in wrapped_line(line, self._width, self.hang)]
        self.virtual_size = Size(self._width, len(self._rows))
        self.refresh()


class TextPane(WrappedView, SearchesText, can_focus=True):
    """Shows lines that are scrolled and searched by keys."""

    BINDINGS: ClassVar[list[BindingType]] = SEARCH_BINDINGS


def wrapped_line(line: Line, width: int, hang: int = 0) -> Iterator[Line]:
    """Wrap a line at spaces, keeping its indent; one of more than ``LONGEST`` characters in parts."""
    text = line.text
    start = len(text) - len(text.lstrip(" "))
    indent = " " * max(0, min(max(start, hang), width // 2 - 1))
    for begin in range(0, max(1, len(text)), LONGEST):
        part = line.part(begin, begin + LONGEST).without_tabs()
        yield from wrapped(part.behind(indent) if begin else part, width, get_character_cell_size, indent)


def _columns(texts: Iterable[str]) -> int:
    return max((cell_len(text.expandtabs()) for text in texts), default=0)
