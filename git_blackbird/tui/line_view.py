"""Lines of any number, as of a diff or a log: only those in view are drawn."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import ClassVar, overload

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.model.text import visible
from git_blackbird.tui.lines import CLASSES, LONGEST

_MARKS = (
    ("diff ", Tone.HEADING),
    ("+++ ", Tone.HEADING),
    ("--- ", Tone.HEADING),
    ("@@", Tone.PLACE),
    ("+", Tone.ADDED),
    ("-", Tone.REMOVED),
)
_LONGEST = 4_000
_NOT_PLAIN = re.compile("[\x00-\x09\x0b-\x1f\x7f]")


class LineView(ScrollView, can_focus=False):
    """Shows lines that are not broken; scrolls both ways."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(CLASSES.values())

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._rows: Sequence[Line] = (Line("reading...", Tone.FAINT),)

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines from the first on."""
        self._rows = lines
        columns = lines.columns if isinstance(lines, DiffLines) else _columns(line.text for line in lines)
        self.virtual_size = Size(columns, len(lines))
        self.scroll_home(animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line of what is in view."""
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        line = self._rows[top + y]
        text = line.text.expandtabs()
        style = self.get_component_rich_style(CLASSES[line.tone], partial=True)
        strip = Strip([Segment(text, style)], cell_len(text))
        return strip.crop_extend(left, left + width, None).apply_style(self.rich_style)


class FoldedView(LineView):
    """Shows lines that are broken where they are too long; scrolls up and down."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._lines: Sequence[Line] = ()
        self._width = 0

    def show(self, lines: Iterable[Line]) -> None:
        """Show lines from the first on."""
        self.renew(lines)
        self.scroll_home(animate=False)

    def renew(self, lines: Iterable[Line]) -> None:
        """Show what has become of the lines; where one reads stays in view."""
        self._lines = list(lines)
        self._fold()

    def on_resize(self, event: events.Resize) -> None:
        """Break the lines anew where the width is another."""
        del event
        if self._width != self.scrollable_content_region.width:
            self._fold()

    def _fold(self) -> None:
        self._width = self.scrollable_content_region.width
        self._rows = [row for line in self._lines for row in folded(line, self._width)]
        self.virtual_size = Size(self._width, len(self._rows))
        self.refresh()


def folded(line: Line, width: int) -> Iterator[Line]:
    """Break a line at spaces where it is too long, each part below its first letter; at last it is cut."""
    rest = line.text[:LONGEST].expandtabs()
    start = len(rest) - len(rest.lstrip(" "))
    indent = " " * max(0, min(start, width // 2 - 1))
    while (end := _fitting(rest, width)) < len(rest):
        space = rest.rfind(" ", 0, end + 1)
        cut = space if rest[: max(space, 0)].strip() else end
        yield Line(rest[:cut].rstrip(), line.tone)
        rest = indent + rest[cut:].lstrip()
    yield Line(rest, line.tone)


def _fitting(text: str, width: int) -> int:
    """Count the characters from the start that fit into so many columns; at least one does."""
    part = text[:width]
    if part.isascii():
        return max(1, len(part))
    used = accumulate(map(get_character_cell_size, part))
    return max(1, sum(1 for columns in used if columns <= width))


def diff_lines(text: str) -> Sequence[Line]:
    """Read git's diff."""
    return DiffLines(text) if text else [Line("nothing was changed", Tone.FAINT)]


class DiffLines(Sequence[Line]):
    """The lines of git's diff, each made when it is looked at: a million of them must not keep a key waiting.

    Control characters in them are made visible. ``columns`` is what the widest takes.
    """

    def __init__(self, text: str) -> None:
        self._lines = text.removesuffix("\n").split("\n")
        if text.isascii() and _NOT_PLAIN.search(text) is None:
            self.columns = min(_LONGEST, max(map(len, self._lines)))
        else:
            self.columns = _columns(visible(line[:_LONGEST]) for line in self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | Sequence[Line]:
        if isinstance(index, slice):
            return [_line(text) for text in self._lines[index]]
        return _line(self._lines[index])


def _columns(texts: Iterable[str]) -> int:
    return max((cell_len(text.expandtabs()) for text in texts), default=0)


def _line(text: str) -> Line:
    tone = next((tone for mark, tone in _MARKS if text.startswith(mark)), Tone.PLAIN)
    return Line(visible(text[:_LONGEST]), tone)
