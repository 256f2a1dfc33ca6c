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
    return Line(tuple(Span(part) if isinstance(part, str) else part for part in parts))


def row(*parts: str | _Span) -> tuple[_Span, ...]:
    """Return a row of a table, in the same way."""
    return line(*parts).spans


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
    count = len(table.rows[0])
    flexible = table.flexible % count
    widths = [max(width(row[index].text) for row in table.rows) for index in range(count)]
    gap = 2
    if columns is not None:
        least = min(_LEAST_COLUMNS, widths[flexible])
        others = sum(widths) - widths[flexible]
        gap = next((gap for gap in (2, 1) if sum(widths) + gap * (count - 1) <= columns), 2)
        if others + least + gap * (count - 1) > columns:
            gap = 1
        widths[flexible] = max(least, min(widths[flexible], columns - others - gap * (count - 1)))
    for cells in table.rows:
        yield Line(tuple(_padded(cells, widths, " " * gap, width)))


def _padded(cells: Sequence[_Span], widths: Sequence[int], gap: str, width: Measure) -> Iterator[_Span]:
    """Yield the cells of a row with what lies between them; nothing follows the last that shows."""
    last = max((index for index, cell in enumerate(cells) if cell.text), default=0)
    for index in range(last + 1):
        # Parts of what is clean are clean.
        text = truncate(cells[index].text, widths[index], width)
        text = text.rstrip(" ") if index == last else text
        yield _Span(text, cells[index].style)
        if index < last:
            yield _Span(" " * (widths[index] - width(text)) + gap)


def plain(lines: Iterable[Line]) -> Iterator[str]:
    """Return lines without any style."""
    return (one.text for one in lines)
