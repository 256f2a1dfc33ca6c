"""The painter of a terminal: documents as text, with escapes of ours; without colours it is the plain one."""

from collections.abc import Iterable, Iterator, Mapping

from git_blackbird.messages.document import Line, Style, Table, aligned

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


def paint(text: str, style: Style) -> str:
    """Return a text that has been cleaned in the look of a style."""
    escape = _ESCAPES.get(style)
    return f"{escape}{text}{_RESET}" if escape and text else text


def paint_line(line: Line) -> str:
    return "".join(paint(span.text, span.style) for span in line.spans)


def paint_lines(lines: Iterable[Line]) -> Iterator[str]:
    return map(paint_line, lines)


def paint_table(table: Table, columns: int | None) -> list[str]:
    """Return a table as lines, at most so many columns wide."""
    return [paint_line(line) for line in aligned(table, columns)]
