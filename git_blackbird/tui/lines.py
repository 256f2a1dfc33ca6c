"""Lines of text for widgets: cleaned, never read as markup, in the colours of the theme."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.model.text import clean, clean_line

STYLES = {
    Tone.PLAIN: "",
    Tone.HEADING: "bold",
    Tone.ADDED: "$text-success",
    Tone.REMOVED: "$text-error",
    Tone.PLACE: "$text-secondary",
    Tone.WARNING: "$text-warning",
    Tone.FAINT: "dim",
}
CLASSES = {tone: f"tone--{tone}" for tone in Tone}
"""The same for widgets that draw line by line; ``app.tcss`` has their colours."""
LONGEST = 2_000
_LONGEST_TEXT = 50_000


def drawn(lines: Iterable[Line]) -> Content:
    """Draw lines in the tones they have; one that is too long to be read is cut."""
    return Content("\n").join(Content.styled(line.text[:LONGEST], STYLES[line.tone]) for line in lines)


def paragraph(text: str) -> Iterator[Line]:
    """Give what came from an agent or a file as lines, a little indented; what nobody would read is cut."""
    yield from (Line(f"  {line}") for line in clean(text[:_LONGEST_TEXT]).splitlines())
    if len(text) > _LONGEST_TEXT:
        yield Line(f"  (and {len(text) - _LONGEST_TEXT} more characters)", Tone.FAINT)


def section(title: str, lines: Iterable[Line]) -> Iterator[Line]:
    """Give lines below a heading; nothing where there are none."""
    rest = iter(lines)
    first = next(rest, None)
    if first is not None:
        yield Line("")
        yield Line(title, Tone.HEADING)
        yield first
        yield from rest


def listed(texts: Iterable[str], tone: Tone = Tone.PLAIN) -> Iterator[Line]:
    """Give each text on a line of its own, indented."""
    yield from (Line(f"  {clean_line(text, LONGEST)}", tone) for text in texts)
