"""What interfaces show: lines of spans, and tables of them. Whatever is in a span has been cleaned.

Texts are composed of these in ``messages/display/``; a face paints them, and decides nothing else: on a
terminal with colours or plain, with Textual, as HTML. A style says what a span is, not how it looks.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple, Self

from git_blackbird.model.base.sanitize import strip_controls

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
    # States of tasks and runs.
    DONE = "done"
    READY = "ready"
    WORKING = "working"
    WAITING = "waiting"
    FAILED = "failed"
    BLOCKED = "blocked"


class _Span(NamedTuple):
    text: str
    style: Style = Style.PLAIN


class Span(_Span):
    """A part of a line. Its text is cleaned here: it may be anyone's."""

    __slots__ = ()

    def __new__(cls, text: str, style: Style = Style.PLAIN) -> Self:
        return super().__new__(cls, strip_controls(text), style)


class Line(NamedTuple):
    """Spans beside each other."""

    spans: tuple[_Span, ...]

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


class Table(NamedTuple):
    """Rows of the same length. Where all do not fit, the ``flexible`` column gives way."""

    rows: Sequence[Sequence[_Span]]
    flexible: int = -1


Measure = Callable[[str], int]
"""How many columns one line of text takes: each terminal library has tables of its own."""


def line(*parts: str | _Span) -> Line:
    """Return a line of spans; a string is a plain one."""
    return Line(row(*parts))


def row(*parts: str | _Span) -> tuple[_Span, ...]:
    """Return a row of a table, or the spans of a line, in the same way."""
    return tuple([Span(part) if isinstance(part, str) else part for part in parts])


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
    """Return the lines of a table, at most so many columns wide if its flexible column can give way so far.

    Two spaces lie between columns, one where that makes them fit.
    """
    if not table.rows:
        return
    widths, gap = _layout(table, columns, width)
    for cells in table.rows:
        last = max((index for index, cell in enumerate(cells) if cell.text), default=0)
        spans = []
        for index, (text, style) in enumerate(cells[: last + 1]):
            # Parts of what is clean are clean.
            shown = truncate(text, widths[index], width)
            if index == last:
                spans.append(_Span(shown.rstrip(" "), style))
            elif style is Style.PLAIN:
                spans.append(_Span(shown + " " * (widths[index] - width(shown)) + gap))
            else:
                spans += (_Span(shown, style), _Span(" " * (widths[index] - width(shown)) + gap))
        yield Line(tuple(spans))


def _layout(table: Table, columns: int | None, width: Measure) -> tuple[list[int], str]:
    """Return how wide each column is, and what lies between two."""
    widths = [max([width(cell.text) for cell in column]) for column in zip(*table.rows, strict=True)]
    if columns is None:
        return widths, "  "
    count = len(widths)
    flexible = table.flexible % count
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


class Section(NamedTuple):
    """A title, and what is below it. A face indents that, and leaves a section without anything out."""

    title: str
    parts: tuple[Line | Table, ...]


Document = Iterable[Section]


def block(text: str, most: int | None = None) -> Iterator[Line]:
    """Yield the lines of a text that may be anyone's; of one of more than ``most`` characters the first."""
    yield from map(line, strip_controls(text[:most]).splitlines())
    if most is not None and len(text) > most:
        yield line(Span(f"(and {len(text) - most} more characters)", Style.FAINT))
