"""Styled lines for widgets: cleaned, not parsed as markup, in the colours of the theme."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from git_blackbird.messages.display.checkpoint import Style, StyledLine
from git_blackbird.model.base.sanitize import clean_line, strip_controls

STYLES = {
    Style.PLAIN: "",
    Style.HEADING: "bold",
    Style.ADDED: "$text-success",
    Style.REMOVED: "$text-error",
    Style.PLACE: "$text-secondary",
    Style.WARNING: "$text-warning",
    Style.FAINT: "dim",
}
CLASSES = {tone: f"tone--{tone}" for tone in Style}
"""Their CSS classes, for widgets that draw line by line; the colours are in ``app.tcss``."""
LONGEST = 2_000
_LONGEST_TEXT = 50_000


def to_content(lines: Iterable[StyledLine]) -> Content:
    """Return the lines as content; a line of more than ``LONGEST`` characters is cut."""
    return Content("\n").join(Content.styled(line.text[:LONGEST], STYLES[line.tone]) for line in lines)


def paragraph(text: str) -> Iterator[StyledLine]:
    """Yield the indented lines of a text from an agent or a file; a very long text is cut."""
    yield from (StyledLine(f"  {line}") for line in strip_controls(text[:_LONGEST_TEXT]).splitlines())
    if len(text) > _LONGEST_TEXT:
        yield StyledLine(f"  (and {len(text) - _LONGEST_TEXT} more characters)", Style.FAINT)


def section(title: str, lines: Iterable[StyledLine]) -> Iterator[StyledLine]:
    """Yield a heading and its lines; nothing if there are no lines."""
    rest = iter(lines)
    first = next(rest, None)
    if first is not None:
        yield StyledLine("")
        yield StyledLine(title, Style.HEADING)
        yield first
        yield from rest


def bulleted(texts: Iterable[str], tone: Style = Style.PLAIN) -> Iterator[StyledLine]:
    """Yield each text on a line of its own, indented."""
    yield from (StyledLine(f"  {clean_line(text, LONGEST)}", tone) for text in texts)
