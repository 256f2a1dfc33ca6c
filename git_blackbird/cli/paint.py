"""The painter of a terminal: documents as text, with escapes of ours where it takes colours."""

from collections.abc import Callable, Iterator, Mapping

from git_blackbird.messages.document import Document, Line, Section, Style, Table, aligned_cells, shortened

_ESCAPES: Mapping[Style, str] = {
    Style.HEADING: "\x1b[1m",
    Style.FAINT: "\x1b[2m",
    Style.ADDED: "\x1b[32m",
    Style.REMOVED: "\x1b[31m",
    Style.PLACE: "\x1b[36m",
    Style.WARNING: "\x1b[33m",
    Style.FRAME: "\x1b[1;33m",
    Style.FAULT: "\x1b[1;31m",
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


def painted_lines(document: Document, columns: int | None, *, colored: bool) -> Iterator[str]:
    """Yield the lines of a document; what is in a section is indented below a blank line and its title."""
    look = paint if colored else lambda text, _style: text
    room = columns and columns - len(_INDENT)
    for part in document:
        if not isinstance(part, Section):
            yield from _painted(part, columns, look)
        elif lines := [line for inner in part.parts for line in _painted(inner, room, look)]:
            yield ""
            yield look(part.title, Style.HEADING)
            yield from [f"{_INDENT}{line}".rstrip() for line in lines]


def _painted(part: Line | Table, columns: int | None, look: Callable[[str, Style], str]) -> list[str]:
    if isinstance(part, Line):
        return ["".join([look(text, style) for text, style, _ in shortened(part, columns).spans])]
    return [
        "".join([look(text, style) + blanks for text, style, blanks in cells]).rstrip(" ")
        for cells in aligned_cells(part, columns)
    ]
