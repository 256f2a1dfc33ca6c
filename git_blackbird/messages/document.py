"""What interfaces show: lines of spans, and tables of them. Whatever is in a span has been cleaned.

Texts are composed of these in ``messages/display/``; a face paints them, and decides nothing else: on a
terminal with colours or plain, with Textual, as HTML. A style says what a span is, not how it looks.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, takewhile
from typing import NamedTuple, Self

from git_blackbird.clean import clean, legible, visible
from git_blackbird.model.base.next_steps import Sentence, ShellLine

_WIDE = frozenset("WF")
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})
_LEAST_COLUMNS = 8


class Style(StrEnum):
    """What a span is; each face has one table of what that looks like."""

    PLAIN = "plain"
    HEADING = "heading"
    ADDED = "added"
    REMOVED = "removed"
    PLACE = "place"
    WARNING = "warning"
    FAINT = "faint"
    COMMAND = "command"
    FRAME = "frame"
    FAULT = "fault"
    # States of tasks and runs.
    DONE = "done"
    READY = "ready"
    WORKING = "working"
    WAITING = "waiting"
    FAILED = "failed"
    BLOCKED = "blocked"


class _Fields(NamedTuple):
    text: str
    style: Style = Style.PLAIN
    about: object = None


class Span(_Fields):
    """A part of a line. Its text is cleaned and cut here: it may be anyone's, and as long as they please.

    ``about`` is what it names, as it is, for an interface that leads there or names it in another way.
    ``_make`` does neither: it is for parts of spans and of texts that have been cleaned.
    """

    __slots__ = ()

    def __new__(cls, text: str, style: Style = Style.PLAIN, about: object = None) -> Self:
        return tuple.__new__(cls, (legible(text), style, about))


class Line(NamedTuple):
    """Spans beside each other; it counts as several lines if it says how many are left out.

    Where a terminal is too narrow, the span at ``gives_way`` is cut; without one the line wraps.
    """

    spans: tuple[Span, ...]
    stands_for: int = 1
    gives_way: int | None = None

    @property
    def text(self) -> str:
        return "".join([span.text for span in self.spans])

    def followed_by(self, text: str) -> "Line":
        """Return it with more in its last style."""
        return self._replace(spans=(*self.spans, Span(text, self.spans[-1].style)))

    def behind(self, blanks: str) -> "Line":
        """Return it with blanks before it, in its first style."""
        if not blanks or not self.spans:
            return self
        first, *others = self.spans
        return self._replace(spans=(Span._make((blanks + first.text, *first[1:])), *others))

    def part(self, start: int, end: int) -> "Line":
        """Return some of its characters."""
        spans, at = [], 0
        for text, *rest in self.spans:
            if piece := text[max(0, start - at) : max(0, end - at)]:
                spans.append(Span._make((piece, *rest)))
            at += len(text)
        return self._replace(spans=tuple(spans) or (Span(""),))

    def without_tabs(self) -> "Line":
        """Return it with blanks instead of tabs."""
        if "\t" not in self.text:
            return self
        spans, before = [], ""
        for text, *rest in self.spans:
            whole = (before + text).expandtabs()
            spans.append(Span._make((whole[len(before) :], *rest)))
            before = whole
        return self._replace(spans=tuple(spans))


class Table(NamedTuple):
    """Rows of the same length. Where all do not fit, the ``flexible`` column gives way, if there is one."""

    rows: Sequence[Sequence[Span]]
    flexible: int | None = -1


class Section(NamedTuple):
    """A title, and what is below it; an interface leaves one out that has nothing."""

    title: str
    parts: tuple[Line | Table, ...]


Document = Iterable[Section | Line | Table]

Measure = Callable[[str], int]
"""How many columns one line of text takes: each terminal library has tables of its own."""


def line(*parts: str | Span, gives_way: int | None = None) -> Line:
    """Return a line of spans; of a string as ``span`` makes one."""
    return Line(row(*parts), gives_way=gives_way)


def row(*parts: str | Span) -> tuple[Span, ...]:
    """Return a row of a table, or the spans of a line, in the same way."""
    # Most are plain.
    return tuple([Span(part) if type(part) is str else span(part) for part in parts])


def span(part: str | Span, style: Style = Style.PLAIN) -> Span:
    """Return a span of a string, which is about the command that it is or the sentence with some."""
    if isinstance(part, Span):
        return part
    if isinstance(part, ShellLine):
        return Span(part, Style.COMMAND, part)
    return Span(part, style, part if isinstance(part, Sentence) else None)


def table(rows: Iterable[Sequence[str | Span]], flexible: int | None = -1) -> Table:
    """Return a table of rows; a string is a plain span."""
    return Table([row(*cells) for cells in rows], flexible)


def facts(named: Iterable[tuple[str, str]], indent: str = "") -> Table:
    """Return names and their values as a table that never gives way."""
    return table(((f"{indent}{name}", text) for name, text in named), None)


def editable(text: str) -> str:
    """Return a text for an editor: all of it, and harmless."""
    return clean(text)


def code(text: str, style: Style = Style.PLAIN) -> Line:
    """Return a line of a file or a change: control characters are a part of what it does, so they show."""
    return Line((Span._make((visible(text), style, None)),))


def section(title: str, parts: Iterable[str | Line | Table]) -> Section:
    """Return a section of lines and tables; a string is a plain line."""
    return Section(title, tuple([line(part) if isinstance(part, str) else part for part in parts]))


def styled(text: str, style: Style = Style.PLAIN, stands_for: int = 1) -> Line:
    """Return a line of one span."""
    return Line((span(text, style),), stands_for)


def wrapped(line: Line, columns: int, width: Measure, indent: str = "") -> Iterator[Line]:
    """Break a line into parts of at most so many columns, at spaces where there are some.

    All parts but the first begin with the indent.
    """
    for start, end in cuts(line.text, columns, width, len(indent)):
        yield line.part(start, end).behind(indent if start else "")


def cuts(text: str, columns: int, width: Measure, indent: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where the parts of a text begin and end that is broken in this way."""
    start, before = 0, ""
    while True:
        rest = before + text[start:]
        end = _fitting(rest, columns, width)
        if end >= len(rest):
            yield start, len(text)
            return
        space = rest.rfind(" ", 0, end + 1)
        cut = space if rest[: max(space, 0)].strip() else end
        stop = start + cut - len(before)
        yield start, start + len(text[start:stop].rstrip())
        start = stop + len(text[stop:]) - len(text[stop:].lstrip())
        before = " " * indent


def _fitting(text: str, columns: int, width: Measure) -> int:
    """Count the leading characters that fit into so many columns, at least one."""
    if text[: columns + 1].isascii():
        return max(1, min(len(text), columns))
    used = accumulate(map(width, text))
    return max(1, sum(1 for _ in takewhile(lambda taken: taken <= columns, used)))


def width_of(text: str) -> int:
    """Return the terminal columns that one line of text takes."""
    if text.isascii():
        return len(text)
    return sum(map(char_width, text))


def char_width(char: str) -> int:
    """Return the terminal columns that one character takes."""
    if unicodedata.category(char) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def shortened(line: Line, columns: int | None, width: Measure = width_of) -> Line:
    """Cut the span that gives way until the line takes so many columns, as far as that does."""
    if columns is None or line.gives_way is None or (excess := width(line.text) - columns) <= 0:
        return line
    spans = list(line.spans)
    text, *rest = spans[line.gives_way]
    spans[line.gives_way] = Span._make((truncate(text, width(text) - excess, width), *rest))
    return line._replace(spans=tuple(spans))


def truncate(text: str, columns: int | None, width: Measure = width_of) -> str:
    """Cut a line to so many columns; what was cut shows as ``...``."""
    if columns is None or width(text) <= columns:
        return text
    fitting, used = [], 0
    for char in text:
        used += width(char)
        if used > columns - 3:
            break
        fitting.append(char)
    return "".join(fitting) + "..."[: max(columns, 0)]


def aligned(table: Table, columns: int | None, width: Measure = width_of) -> Iterator[Line]:
    """Return the lines of a table, so many columns wide if its flexible column can give way so far."""
    for cells in aligned_cells(table, columns, width):
        spans = []
        for text, style, blanks in cells:
            if style is Style.PLAIN:
                spans.append(Span._make((text + blanks, style, None)))
            else:
                spans += (Span._make((text, style, None)), Span._make((blanks, Style.PLAIN, None)))
        text, *rest = spans.pop()
        if shown := text.rstrip(" "):
            spans.append(Span._make((shown, *rest)))
        yield Line(tuple(spans))


def aligned_cells(
    table: Table, columns: int | None, width: Measure = width_of
) -> Iterator[list[tuple[str, Style, str]]]:
    """Yield the cells of each row up to the last with a text: text, style, and the blanks after it.

    Two spaces lie between columns, one where that makes them fit. Each text is measured once: there may be
    10,000 rows.
    """
    if not table.rows:
        return
    measured = [[width(cell[0]) for cell in cells] for cells in table.rows]
    widths, gap = _layout([*map(max, zip(*measured, strict=True))], table.flexible, columns)
    for cells, taken in zip(table.rows, measured, strict=True):
        shown = []
        for (text, style, _), has, room in zip(cells, taken, widths, strict=True):
            if has <= room:
                shown.append((text, style, " " * (room - has) + gap))
            else:
                # A part of what is clean is clean.
                cut = truncate(text, room, width)
                shown.append((cut, style, " " * (room - width(cut)) + gap))
        while len(shown) > 1 and not shown[-1][0]:
            shown.pop()
        yield shown


def _layout(widths: list[int], flexible: int | None, columns: int | None) -> tuple[list[int], str]:
    """Return how wide each column is, and what lies between two."""
    if columns is None or flexible is None:
        return widths, "  "
    count = len(widths)
    flexible %= count
    least = min(_LEAST_COLUMNS, widths[flexible])
    others = sum(widths) - widths[flexible]
    gap = next((gap for gap in (2, 1) if sum(widths) + gap * (count - 1) <= columns), 2)
    if others + least + gap * (count - 1) > columns:
        gap = 1
    widths[flexible] = max(least, min(widths[flexible], columns - others - gap * (count - 1)))
    return widths, " " * gap


def plain(lines: Iterable[Line]) -> Iterator[str]:
    """Return lines without any style."""
    return (one.text for one in lines)


def listed(texts: Sequence[str], most: int, more: str = "") -> Iterator[Line]:
    """Yield at most so many lines, and how many there are more."""
    yield from map(line, texts[:most])
    if len(texts) > most:
        yield line(f"and {len(texts) - most} more{more}")


def block(text: str, most: int | None = None, indent: str = "") -> Iterator[Line]:
    """Yield the lines of a text that may be anyone's; of one of more than ``most`` characters the first."""
    for one in clean(text[:most]).splitlines():
        yield Line((Span._make((indent + one, Style.PLAIN, None)),))
    if most is not None and len(text) > most:
        yield line(Span(f"(and {len(text) - most} more characters)", Style.FAINT))
