"""The painter of a terminal: documents as text, with escapes of ours; without colours it is the plain one."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.messages.document import Document, Line, Style, Table, aligned_cells

_ESCAPES: Mapping[Style, str] = {
    Style.HEADING: "\x1b[1m",
    Style.FAINT: "\x1b[2m",
    Style.ADDED: "\x1b[32m",
    Style.REMOVED: "\x1b[31m",
    Style.PLACE: "\x1b[36m",
    Style.WARNING: "\x1b[33m",
    Style.DONE: "\x1b[32m",
    Style.READY: "\x1b[36m",
    Style.WORKING: "\x1b[34m",
    Style.WAITING: "\x1b[33m",
    Style.FAILED: "\x1b[31m",
    Style.BLOCKED: "\x1b[35m",
}
_RESET = "\x1b[0m"
_INDENT = "  "


def paint(text: str, style: Style) -> str:
    """Return a text that has been cleaned in the look of a style."""
    escape = _ESCAPES.get(style)
    return f"{escape}{text}{_RESET}" if escape and text else text


def paint_line(line: Line) -> str:
    return "".join([paint(text, style) for text, style in line.spans])


def paint_lines(lines: Iterable[Line]) -> Iterator[str]:
    return map(paint_line, lines)


def paint_table(table: Table, columns: int | None) -> list[str]:
    """Return a table as lines, at most so many columns wide."""
    return [
        "".join([paint(text, style) + blanks for text, style, blanks in cells]).rstrip(" ")
        for cells in aligned_cells(table, columns)
    ]


def paint_document(document: Document, columns: int | None) -> Iterator[str]:
    """Yield each section that has something, below a blank line and its title."""
    room = columns and columns - len(_INDENT)
    for title, parts in document:
        if parts:
            yield from ("", paint(title, Style.HEADING))
        for part in parts:
            lines = paint_table(part, room) if isinstance(part, Table) else (paint_line(part),)
            yield from (f"{_INDENT}{text}".rstrip() for text in lines)
