"""Lines of any number, as of a diff or a log: only those in view are drawn."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from git_blackbird.messages.checkpoint_text import Line, Tone
from git_blackbird.model.text import visible
from git_blackbird.tui.lines import STYLES

_MARKS = (
    ("diff ", Tone.HEADING),
    ("+++ ", Tone.HEADING),
    ("--- ", Tone.HEADING),
    ("@@", Tone.PLACE),
    ("+", Tone.ADDED),
    ("-", Tone.REMOVED),
)
_LONGEST = 4_000


class LineView(ScrollView, can_focus=False):
    """Shows lines that are not broken; scrolls both ways."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(id=id)
        self._lines: Sequence[Line] = (Line("reading...", Tone.FAINT),)

    def show(self, lines: Sequence[Line]) -> None:
        """Show lines from the first on."""
        self._lines = lines
        self.virtual_size = Size(max((len(line.text) for line in lines), default=0), len(lines))
        self.scroll_home(animate=False)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw one line of what is in view."""
        left, top = self.scroll_offset
        width = self.size.width
        if top + y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[top + y]
        text = line.text.expandtabs()
        strip = Strip([Segment(text, Style.parse(STYLES[line.tone] or "none"))], cell_len(text))
        return strip.crop_extend(left, left + width, None).apply_style(self.rich_style)


def diff_lines(text: str) -> list[Line]:
    """Read git's diff; control characters in it are made visible."""
    if not text:
        return [Line("nothing was changed", Tone.FAINT)]
    lines = text.split("\n")
    return [_line(line[:_LONGEST]) for line in (lines[:-1] if lines[-1] == "" else lines)]


def _line(text: str) -> Line:
    tone = next((tone for mark, tone in _MARKS if text.startswith(mark)), Tone.PLAIN)
    return Line(visible(text), tone)
