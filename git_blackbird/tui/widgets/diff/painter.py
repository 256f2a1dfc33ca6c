"""The rows of a diff as strips: line numbers and marks stay in place, texts scroll or wrap."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.patch.headers import submodule_line
from git_blackbird.messages.patch.layout import Row, RowKind
from git_blackbird.messages.patch.parse import ADDED, NO_NEWLINE, REMOVED, FilePatch, Patch
from git_blackbird.messages.patch.text import changed_spans, display_text
from git_blackbird.tui.widgets.diff.colors import SyntaxColors
from git_blackbird.tui.widgets.searching import find_matches

_FEW_COLUMNS = 60
_GOES_ON = "\u2026"
_NO_NEWLINE = "no newline at the end of the file"
CURSOR_COLUMNS = 1
NOTE_COLUMNS = 6
"""What a row of a note has beside its text."""


class Frame(NamedTuple):
    """The room for the rows, and how they are shown in it; ``left`` columns of texts are scrolled out."""

    width: int
    left: int
    is_wrapped: bool
    is_split: bool
    needle: str = ""


class NoteRow(NamedTuple):
    """A row of a note under a line, and the name of its style."""

    text: str
    tone: str


class Styled(NamedTuple):
    """A part of a text with its style."""

    start: int
    end: int
    style: Style


class Painter:
    """Paints the rows of one patch; ``style`` gives the style of a name."""

    def __init__(self, patch: Patch, colors: SyntaxColors, style: Callable[[str], Style]) -> None:
        self._patch = patch
        self._colors = colors
        self._style = style
        self._number_columns = max(3, len(str(patch.largest_number)))
        self.notes: Mapping[int, Sequence[NoteRow]] = {}
        self.signs: Mapping[int, str] = {}
        """The lines that are left out, with a sign at the heads of their hunks."""
        self.moved: frozenset[int] = frozenset()
        """The lines that are only in another place."""
        self.evidence_marks: Mapping[int, str] = {}
        """The marks of lines that no test ran, or nothing notices."""
        self.is_simple = False
        """Whether the terminal has so few colours that changed lines get those of their mark alone."""

    def paint(self, row: Row, frame: Frame) -> Sequence[Strip]:
        """Return a row: one strip, or more where it is wrapped. The first column is left to the cursor."""
        if row.kind is RowKind.NOTE:
            text, tone = self.notes[row.line][row.part]
            return [self._whole([Segment(f"   \u2503 {text}", self._style(tone))], frame, "note")]
        if row.kind is RowKind.FACT:
            fact = self._patch.files[row.file].facts[row.part]
            return [self._whole([Segment(f"   {fact}", self._style("fact"))], frame, "fact")]
        if self._patch.marks[row.line] == "@":
            # It scrolls with nothing: it says where the lines are.
            text = f" {self.signs.get(row.line, ' ')} {display_text(self._patch.lines[row.line])}"
            return [self._whole([Segment(text, self._style("place"))], frame, "place")]
        if not frame.is_split:
            return self._side(row.left, frame.width, frame, self._numbers(row.left, frame.width))
        half = (frame.width - 1) // 2
        left = self._side(row.left, half, frame, self._number(row.left, 0))
        right = self._side(row.right, frame.width - 1 - half, frame, self._number(row.right, 1))
        return list(self._side_by_side(left, right, half, frame.width - 1 - half))

    def columns_beyond(self, row: Row, frame: Frame) -> int:
        """Return how many columns of a row's texts are out of view to the right."""
        if row.kind is not RowKind.LINES or self._patch.marks[row.line] == "@":
            return 0
        lines = {line for line in (row.left, row.right) if line >= 0}
        widest = max(cell_len(self.text_of(line)) for line in lines)
        width = (frame.width - 1) // 2 if frame.is_split else frame.width
        room = width - self._gutter_columns(width, is_split=frame.is_split)
        return widest - frame.left - room

    def _gutter_columns(self, width: int, *, is_split: bool) -> int:
        numbers = 1 if is_split or width < _FEW_COLUMNS else 2
        return CURSOR_COLUMNS + numbers * (self._number_columns + 1) + 2

    def header(self, file: FilePatch, frame: Frame, *, is_folded: bool) -> Strip:
        """Return the header of a file: path, numbers of lines, and what happened to it."""
        base = self._style("file")
        stat = [Segment(f"  {file.word}", base)]
        if file.hunks:
            stat = [
                Segment(f"  +{file.additions}", base + self._style("plus")),
                Segment(f" -{file.deletions}", base + self._style("minus")),
                *stat,
            ]
        mark = "\u25b8" if is_folded else "\u25be"
        begin = Segment(f"{' ' * CURSOR_COLUMNS}{mark} ", base)
        room = frame.width - begin.cell_length - sum(segment.cell_length for segment in stat)
        path = _from_end(render_path(file.path), max(8, room))
        strip = Strip([begin, *segments(path, base, [self._match_styles(path, frame.needle)]), *stat])
        return strip.crop_extend(0, frame.width, base)

    def _whole(self, segments: Iterable[Segment], frame: Frame, name: str) -> Strip:
        strip = Strip([Segment(" " * CURSOR_COLUMNS), *segments])
        return self._fitted(strip, 0, frame.width, self._style(name))

    def _fitted(self, strip: Strip, left: int, columns: int, base: Style) -> Strip:
        """Return so many columns of a strip; its first and last one say where it goes on."""
        is_cut_before = left > 0 and strip.cell_length > 0 and columns > 1
        is_cut_after = strip.cell_length > left + columns and columns > 1
        sign = Segment(_GOES_ON, base + self._style("number"))
        shown = strip.crop_extend(left + is_cut_before, left + columns - is_cut_after, base)
        return Strip([*[sign] * is_cut_before, *shown, *[sign] * is_cut_after])

    def _side_by_side(self, left: Sequence[Strip], right: Sequence[Strip], *widths: int) -> Iterator[Strip]:
        blanks = [Strip([Segment(" " * width, self._style("missing"))]) for width in widths]
        for index in range(max(len(left), len(right))):
            one = left[index] if index < len(left) else blanks[0]
            other = right[index] if index < len(right) else blanks[1]
            yield Strip.join([one, Strip([Segment("\u2502", self._style("number"))]), other])

    def _numbers(self, line: int, width: int) -> str:
        numbers = self._patch.numbers(line)
        if width < _FEW_COLUMNS:
            number = numbers.old if numbers.new is None else numbers.new
            return self._aligned(number)
        return f"{self._aligned(numbers.old)} {self._aligned(numbers.new)}"

    def _number(self, line: int, side: int) -> str:
        return self._aligned(self._patch.numbers(line)[side] if line >= 0 else None)

    def _aligned(self, number: int | None) -> str:
        return ("" if number is None else str(number)).rjust(self._number_columns)

    def _side(self, line: int, width: int, frame: Frame, numbers: str) -> Sequence[Strip]:
        """Return a line in so many columns: cursor, numbers, mark, text."""
        if line < 0:
            return ()
        mark = self._patch.marks[line]
        name = _NAMES.get(mark, "same")
        base, number = self._style(name), self._style("number")
        gutter = [
            Segment(" " * CURSOR_COLUMNS),
            *self._marked(numbers, number, self.evidence_marks.get(line)),
            Segment(mark if mark in _SHOWN_MARKS else " ", base + self._style(_MARKS.get(mark, "number"))),
            Segment(" ", base),
        ]
        taken = sum(segment.cell_length for segment in gutter)
        room = max(1, width - taken)
        text = Strip(list(self._text(line, mark, base, frame.needle)))
        if not frame.is_wrapped:
            return [Strip([*gutter, *self._fitted(text, frame.left, room, base)])]
        below = [Segment(" " * (taken - 1), number), Segment(" ", base)]
        parts = text.divide(cuts(text.text, room)) or [Strip.blank(0)]
        return [
            Strip([*(below if index else gutter), *part.extend_cell_length(room, base)])
            for index, part in enumerate(parts)
        ]

    def _marked(self, numbers: str, style: Style, mark: str | None) -> Sequence[Segment]:
        if mark is None:
            return [Segment(f"{numbers} ", style)]
        return [Segment(numbers, style), Segment(mark, self._style("missed"))]

    def _text(self, line: int, mark: str, base: Style, needle: str) -> Iterator[Segment]:
        if mark == NO_NEWLINE:
            yield Segment(_NO_NEWLINE, base)
            return
        text, changed = self.text_of(line), self._style(f"{_NAMES.get(mark, 'same')}-part")
        if line in self.moved or line in self.signs:
            yield from segments(text, base + self._style("moved"), [self._match_styles(text, needle)])
            return
        layers = [
            [] if self.is_simple and mark in _MARKS else self._syntax(line),
            [Styled(*span, changed) for span in changed_spans(self._patch, line)],
            self._match_styles(text, needle),
        ]
        yield from segments(text, base, layers)

    def _match_styles(self, text: str, needle: str) -> list[Styled]:
        return [
            Styled(start, start + len(needle), self._style("match")) for start in find_matches(text, needle)
        ]

    def text_of(self, line: int) -> str:
        """Return the text of a line as it is shown, without its mark."""
        text = self._patch.text_of(line)
        if text.startswith("Subproject ") and self._is_submodule(line):
            return submodule_line(text) or text
        return display_text(text)

    def _is_submodule(self, line: int) -> bool:
        return self._patch.files[self._patch.file_index(line)].word.startswith("submodule")

    def _syntax(self, line: int) -> list[Styled]:
        return [Styled(start, end, self._style(kind)) for start, end, kind in self._colors.of_line(line)]


_NAMES = {ADDED: "added", REMOVED: "removed", NO_NEWLINE: "fact"}
_MARKS = {ADDED: "plus", REMOVED: "minus"}
_SHOWN_MARKS = frozenset(_MARKS)


def segments(text: str, base: Style, layers: Sequence[Sequence[Styled]]) -> Iterator[Segment]:
    """Yield a text with the parts of each layer styled over those before; those of one do not overlap."""
    edges = {edge for layer in layers for start, end, _ in layer for edge in (start, end) if edge < len(text)}
    places = [0] * len(layers)
    for start, end in pairwise(sorted({0, *edges, len(text)})):
        style = base
        for number, layer in enumerate(layers):
            while places[number] < len(layer) and layer[places[number]].end <= start:
                places[number] += 1
            if places[number] < len(layer) and layer[places[number]].start <= start:
                style += layer[places[number]].style
        yield Segment(text[start:end], style)


def cuts(text: str, columns: int) -> list[int]:
    """Return where to cut a text into parts of so many columns, in columns.

    It is cut after a space where a part has one besides those at the beginning; no wide character is cut.
    """
    indent = len(text) - len(text.lstrip(" "))
    if text.isascii():
        return [*_ascii_cuts(text, columns, indent), max(1, len(text))]
    found, width, start, space = [], 0, 0, 0
    for letter in text:
        size = get_character_cell_size(letter)
        while width + size - start > columns and width > start:
            start = width if space <= start or letter == " " else space
            found.append(start)
        width += size
        if letter == " " and width > indent:
            space = width
    return [*found, max(1, width)]


def _ascii_cuts(text: str, columns: int, indent: int) -> Iterator[int]:
    """Yield the cuts of a text whose characters have a column each; it may be very long."""
    start = 0
    while start + columns < len(text):
        end = start + columns
        space = end - 1 if text[end] == " " else text.rfind(" ", max(start, indent), end)
        start = end if space < 0 else space + 1
        yield start


def _from_end(text: str, columns: int) -> str:
    """Return the end of a path, which tells more than its beginning."""
    if cell_len(text) <= columns:
        return text
    while text and cell_len(text) >= columns:
        text = text[1:]
    return f"\u2026{text}"
