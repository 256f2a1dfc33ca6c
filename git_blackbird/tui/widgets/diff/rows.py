"""The rows of a patch on the screen, with the row under the cursor: scrolling and painting."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from git_blackbird.messages.patch.layout import Layout, Row, RowKind, SideBySide
from git_blackbird.messages.patch.parse import FilePatch, Patch
from git_blackbird.model.base.system import gc_paused
from git_blackbird.model.run.parts import ReviewComment
from git_blackbird.tui.widgets.diff.colors import SYNTAX, SyntaxColors
from git_blackbird.tui.widgets.diff.notes import Note, note_rows, notes_at
from git_blackbird.tui.widgets.diff.painter import CURSOR_COLUMNS, NOTE_COLUMNS, Frame, Painter

LEAST_SPLIT_COLUMNS = 140
_PARTS = ("added", "removed", "added-part", "removed-part", "plus", "minus", "missed")
_ROWS = ("place", "fact", "file", "number", "match", "cursor", "moved", "note", "finding", "comment-note")
_STYLES = frozenset({*_PARTS, *_ROWS, *SYNTAX})
_CACHED_ROWS = 500
_CURSOR = ">"


@dataclass
class DiffOptions:
    """The way in which diffs are shown; it holds for the next one as well."""

    is_wrapped: bool = False
    wants_split: bool = False


class DiffRows(ScrollView, can_focus=True):
    """Shows the rows in view, and paints no others. It scrolls by rows, whatever their heights.

    The header of the file at the top stays above its lines, in the place of the topmost row.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"diff--{name}" for name in _STYLES}

    class Folded(Message):
        """Other files are folded, or moved lines are dim by now."""

    class Moved(Message):
        """The cursor is on another line, or another patch is shown."""

    class EndShown(Message):
        """The last line was drawn."""

    def __init__(self, options: DiffOptions | None = None) -> None:
        super().__init__()
        self.options = DiffOptions() if options is None else options
        self.cursor = 0
        self.needle = ""
        self._is_scrolling = False
        self._is_coloring = False
        self._view: list[tuple[int, Strip]] | None = None
        self._set_patch(Patch(""))

    def _set_patch(self, patch: Patch) -> None:
        self.patch = patch
        self.folded: frozenset[int] = frozenset()
        self.rows = Layout(patch)
        self._side_by_side = SideBySide(patch)
        self.left = 0
        # How many strips of the topmost row are out of view: a wrapped line may be higher than the screen.
        self._hidden = 0
        self._colors = SyntaxColors(patch)
        self._painter = Painter(patch, self._colors, self._style)
        self._painted = lru_cache(_CACHED_ROWS)(self._painter.paint)
        self.notes: Sequence[Note] = ()

    def show_signs(self, signs: Mapping[int, str]) -> None:
        """Dim these lines, with a sign at those that have one."""
        if signs != self._painter.signs:
            self._painter.signs = signs
            self.repaint()

    @property
    def marks(self) -> Mapping[int, str]:
        """The lines that no test ran, or nothing notices."""
        return self._painter.evidence_marks

    def show_marks(self, marks: Mapping[int, str]) -> None:
        """Mark lines that no test ran, or nothing notices."""
        if marks != self._painter.evidence_marks:
            self._painter.evidence_marks = marks
            self.repaint()

    def annotate(self, notes: Iterable[Note]) -> None:
        """Show these notes under their lines instead of those before."""
        self.notes = tuple(notes)
        self.lay_out()
        last = self.cursor
        while last + 1 < len(self.rows) and self.rows[last + 1].kind is RowKind.NOTE:
            last += 1
        if last - self.top > self.size.height - 2:
            self.scroll_to_row(last - self.size.height + 2)

    def show(self, patch: Patch) -> None:
        """Show a patch from its beginning."""
        self._set_patch(patch)
        self.cursor = 0
        self.lay_out()
        self.scroll_to_row(0)
        self.post_message(self.Moved())

    def replace(self, patch: Patch) -> None:
        """Show another patch of the same change, with the cursor on the same line in the same place."""
        row, old, place = self.row, self.patch, self.cursor - self.top
        folded = {old.files[index].path for index in self.folded}
        self._set_patch(patch)
        self.folded = frozenset(index for index, file in enumerate(patch.files) if file.path in folded)
        self.cursor = 0
        self.lay_out()
        if row is not None:
            self.go_to(_same_line(old, row, patch))
            self.scroll_to_row(self.cursor - place)
            self.keep_in_view()
        self.post_message(self.Moved())

    @property
    def row(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if len(self.rows) else None

    @property
    def file(self) -> FilePatch | None:
        """The file under the cursor."""
        row = self.row
        return None if row is None else self.patch.files[row.file]

    @property
    def is_wrapped(self) -> bool:
        """Whether long lines are wrapped."""
        return self.options.is_wrapped

    @property
    def is_split(self) -> bool:
        """Whether old and new lines stand side by side."""
        return self.options.wants_split and self.app.size.width >= LEAST_SPLIT_COLUMNS

    @property
    def top(self) -> int:
        """The topmost row in view."""
        return max(0, min(round(self.scroll_y), len(self.rows) - 1))

    def lay_out(self) -> None:
        """Lay the rows out again, with the cursor on the same line in the same place of the screen."""
        row, place = self.row, self.cursor - self.top
        with gc_paused():
            self.rows = self._new_layout()
        # The last of wrapped lines may be far below the top.
        more = self.size.height if self.is_wrapped else 0
        self.virtual_size = Size(self.size.width, len(self.rows) + more)
        if row is not None:
            self.cursor = self.rows.row_of(row.line)
            self.scroll_to_row(self.cursor - place)
            self.keep_in_view()
        self.repaint()

    def _new_layout(self) -> Layout:
        rows = note_rows(self.notes, self._note_columns)
        self._painter.notes = rows
        heights = {line: len(texts) for line, texts in rows.items()}
        return Layout(self.patch, self.folded, heights, self._side_by_side if self.is_split else None)

    @property
    def _note_columns(self) -> int:
        return self.frame.width - NOTE_COLUMNS

    @property
    def notes_here(self) -> Sequence[Note]:
        """The note under the cursor, or all notes under its line."""
        return () if self.row is None else notes_at(self.notes, self.row, self._note_columns)

    def comments_at(self, line: int) -> Sequence[ReviewComment]:
        """Return the comment under the cursor, or all under a line of a hunk."""
        here = [note.comment for note in self.notes_here if note.comment is not None]
        is_note = self.row is not None and self.row.kind is RowKind.NOTE
        if (here and is_note) or self.patch.hunk_at(line) is None:
            # At the head of a file are those on lines that are not shown.
            return here if is_note else ()
        return [note.comment for note in self.notes if note.line == line and note.comment is not None]

    def repaint(self) -> None:
        """Paint all rows again: how they are shown has changed."""
        self._painted.cache_clear()
        self.refresh()

    def move_to(self, row: int) -> None:
        """Move the cursor to a row."""
        row = max(0, min(row, len(self.rows) - 1))
        if row != self.cursor:
            self.cursor = row
            self.post_message(self.Moved())
        self.keep_in_view()
        self.refresh()

    def fold(self, files: frozenset[int]) -> None:
        """Fold these files, and unfold all others."""
        self.folded = files
        self.lay_out()
        self.post_message(self.Folded())

    def go_to(self, line: int, *, at_top: bool = False) -> None:
        """Move the cursor to a line of the patch, unfolding its file."""
        index = self.patch.file_index(line)
        if index in self.folded and line != self.patch.files[index].start:
            self.fold(self.folded - {index})
        row = self.rows.row_of(line)
        if at_top:
            self.scroll_to_row(row - (self.rows[row].kind is not RowKind.FILE))
        self.move_to(row)

    def scroll_to_row(self, row: int, hidden: int = 0) -> None:
        """Scroll so that a row is the topmost; ``hidden`` of its strips are out of view."""
        self._is_scrolling = True
        self.scroll_to(y=max(0, row), animate=False, force=True)
        self._is_scrolling = False
        self._hidden = hidden
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take the cursor along with what is scrolled by other means."""
        super().watch_scroll_y(old_value, new_value)
        if self._is_scrolling or not len(self.rows):
            return
        self._hidden = 0
        lowest = self.top + max(1, self.size.height - 1)
        row = max(self.top + (self.top > 0), min(self.cursor, lowest, len(self.rows) - 1))
        if row != self.cursor:
            self.cursor = min(row, len(self.rows) - 1)
            self.post_message(self.Moved())

    def keep_in_view(self) -> None:
        """Scroll as far as the cursor needs it; a line higher than the screen is shown from its beginning."""
        row = self.row
        if row is None:
            return
        is_header = row.kind is RowKind.FILE
        top = self.top
        if self.cursor < top + (not is_header):
            self._show_first(self.cursor, is_header=is_header)
            return
        top, hidden = max(top, self.cursor - self.size.height), self._hidden if top == self.top else 0
        used = sum(map(self.height_of, range(top, self.cursor + 1))) - hidden
        while used > self.size.height and top < self.cursor:
            used, top, hidden = used - self.height_of(top) + hidden, top + 1, 0
        if top == self.cursor and not is_header:
            self._show_first(self.cursor, is_header=False)
        elif top != self.top:
            self.scroll_to_row(top, hidden)

    def _show_first(self, row: int, *, is_header: bool) -> None:
        """Show a row at the top; a row that is no header comes first below its header."""
        if is_header:
            self.scroll_to_row(row)
        else:
            self.scroll_to_row(row - 1, self.height_of(row - 1) - 1)

    def scroll_strips(self, strips: int) -> None:
        """Scroll by one strip of a wrapped line, down or up."""
        top, hidden = self.top, self._hidden + strips
        if hidden < 0:
            top, hidden = top - 1, self.height_of(max(0, top - 1)) - 1
        elif hidden >= self.height_of(top):
            top, hidden = top + 1, 0
        self.scroll_to_row(top, max(0, hidden))

    def height_of(self, row: int) -> int:
        """Return the strips of a row."""
        return len(self._strips(row)) if self.is_wrapped else 1

    def is_end_in_view(self, row: int) -> bool:
        """Whether a row is shown up to its last strip."""
        shown = sum(number == row for number, _ in self._visible_strips())
        hidden = self._hidden if row == self.top else 0
        return shown + hidden >= self.height_of(row)

    def _visible_strips(self) -> list[tuple[int, Strip]]:
        if self._view is None:
            self._view = self._read_visible_strips()
            self._color()
            if len(self.rows) and self.is_end_in_view(len(self.rows) - 1):
                self.post_message(self.EndShown())
        return self._view

    def _read_visible_strips(self) -> list[tuple[int, Strip]]:
        """Return the strips in view, each with its row."""
        shown: list[tuple[int, Strip]] = []
        if not len(self.rows):
            return shown
        row, hidden = self.top, self._hidden
        while len(shown) < self.size.height and row < len(self.rows):
            shown += [(row, strip) for strip in self._strips(row)[hidden:]]
            row, hidden = row + 1, 0
        shown[0] = (self.top, self._header(self.rows[self.top].file))
        return shown[: self.size.height]

    def _strips(self, row: int) -> Sequence[Strip]:
        shown = self.rows[row]
        if shown.kind is RowKind.FILE:
            return [self._header(shown.file)]
        return self._painted(shown, self.frame)

    @property
    def frame(self) -> Frame:
        """The room for the rows, and how they are shown."""
        width = max(1, self.scrollable_content_region.width)
        return Frame(width, self.left, self.is_wrapped, self.is_split, self.needle)

    def _header(self, index: int) -> Strip:
        return self._painter.header(self.patch.files[index], self.frame, is_folded=index in self.folded)

    def shift(self, columns: int) -> None:
        """Scroll the texts sideways, as far as one in view goes on."""
        rows = [self.rows[row] for row in {row for row, _ in self._visible_strips()}]
        rest = max((self._painter.columns_beyond(row, self.frame) for row in rows), default=0)
        self.left = max(0, min(self.left + columns, self.left + max(0, rest) if columns > 0 else self.left))
        self.repaint()

    def render_line(self, y: int) -> Strip:
        shown = self._visible_strips()
        width = self.size.width
        if y >= len(shown):
            return Strip.blank(width, self.rich_style)
        row, strip = shown[y]
        if self.is_marked(row) and (y > 0 or self.rows[row].kind is RowKind.FILE):
            strip = _marked(strip, self._style("cursor") if self.has_focus else Style())
        return strip.extend_cell_length(width).apply_style(self.rich_style)

    def is_marked(self, row: int) -> bool:
        """Whether a row is under the cursor."""
        return row == self.cursor

    def _style(self, name: str) -> Style:
        if name not in _STYLES:
            return Style()
        partial = self.get_component_rich_style(f"diff--{name}", partial=True)
        if partial.bgcolor is None:
            return partial
        # A colour that lets the one below it through is a mix of both.
        return partial + Style(bgcolor=self.get_component_rich_style(f"diff--{name}").bgcolor)

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> "DiffRows":
        self._view = None
        super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)
        return self

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        super().notify_style_update()
        self._painted.cache_clear()
        self._view = None

    def on_resize(self, event: events.Resize) -> None:
        del event
        self.lay_out()

    def row_at(self, y: int) -> int | None:
        """Return the row that is shown in a line of the screen."""
        shown = self._visible_strips()
        return shown[y][0] if y < len(shown) else None

    @property
    def is_colored(self) -> bool:
        """Whether all that is in view has its colours."""
        return bool(self._visible_strips()) and not self._colors.is_wanted and not self._is_coloring

    def _color(self) -> None:
        """Find the colours of what is in view in a thread: reading a lexer takes a while."""
        self._painter.is_simple = self.app.native_ansi_color
        if self._colors.is_wanted and not self._is_coloring and not self.app.no_color:
            self._is_coloring = True
            self.run_worker(self._find_colors, thread=True)

    def _find_colors(self) -> None:
        colors = self._colors
        try:
            colors.find()
        finally:
            self.app.call_from_thread(self._show_colors)

    def _show_colors(self) -> None:
        self._is_coloring = False
        self.repaint()


def _same_line(old: Patch, row: Row, new: Patch) -> int:
    """Return the line of another patch of a change for a row; the head of its file if there is none."""
    path = old.files[row.file].path
    file = next((file for file in new.files if file.path == path), None)
    if file is None:
        return 0
    # The head of a hunk stands for its first line.
    numbers = old.numbers(row.line + (old.marks[row.line] == "@"))
    is_old = numbers.new is None
    number = numbers.old if is_old else numbers.new
    line = None if number is None else new.line_of(file, number, is_old=is_old)
    return file.start if line is None else line


def _marked(strip: Strip, style: Style) -> Strip:
    """Return a strip with the mark of the cursor in its first column."""
    _, rest = strip.divide([CURSOR_COLUMNS, max(strip.cell_length, CURSOR_COLUMNS + 1)])
    return Strip(Segment.apply_style([Segment(_CURSOR), *rest], None, style))
