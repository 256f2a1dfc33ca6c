"""Lines of text for widgets: cleaned, never read as markup."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.model.text import clean, clean_line

STYLES = {
    Tone.PLAIN: "",
    Tone.HEADING: "bold",
    Tone.ADDED: "green",
    Tone.REMOVED: "red",
    Tone.PLACE: "cyan",
    Tone.WARNING: "yellow",
    Tone.FAINT: "dim",
}
_LONGEST = 2_000


def drawn(lines: Iterable[Line]) -> Text:
    """Draw lines in the tones they have; one that is too long to be read is cut."""
    return Text("\n", overflow="fold").join(
        Text(line.text[:_LONGEST], STYLES[line.tone], overflow="fold") for line in lines
    )


def paragraph(text: str) -> Iterator[Line]:
    """Give what came from an agent or a file as lines, a little indented."""
    yield from (Line(f"  {line}") for line in clean(text).splitlines())


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
    yield from (Line(f"  {clean_line(text, _LONGEST)}", tone) for text in texts)
