"""The keys of a diff: movement by lines, hunks and files, folding, and how lines are shown."""

from collections import Counter
from typing import ClassVar

from textual import events, work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import get_current_worker

from git_blackbird.messages.patch.layout import RowKind
from git_blackbird.messages.patch.moved import moved_lines
from git_blackbird.messages.patch.parse import ADDED, CONTEXT, NO_NEWLINE, REMOVED, Patch
from git_blackbird.tui.widgets.diff.rows import LEAST_SPLIT_COLUMNS, DiffRows
from git_blackbird.tui.widgets.searching import find_matches

_SHIFT_COLUMNS = 8
_FEW_ROWS = 4
_PLACES = {ADDED: "added", REMOVED: "removed", CONTEXT: "unchanged"}
_IN_NAMES = "in file names"
NO_NOTES = "no comments and no findings here"


class DiffView(DiffRows):
    """A patch with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("g,home", "end(0)", "First line", show=False),
        Binding("G,end", "end(1)", "Last line", show=False),
        Binding("l,right", "shift(1)", "Right", show=False),
        Binding("h,left", "shift(-1)", "Left", show=False),
        Binding("n", "hunk(1)", "Next hunk", show=False),
        Binding("N", "hunk(-1)", "Hunk before", show=False),
        Binding("right_square_bracket", "file(1)", "Next file", show=False),
        Binding("left_square_bracket", "file(-1)", "File before", show=False),
        Binding("z", "fold", "Fold the file", show=False),
        Binding("Z", "fold_all", "Fold all files", show=False),
        Binding("w", "wrap", "Wrap lines", show=False),
        Binding("s", "split", "Side by side", show=False),
        Binding("v", "range", "Begin or give up a range of lines", show=False),
        Binding("shift+down", "extend(1)", "Extend the range", show=False),
        Binding("shift+up", "extend(-1)", "Extend the range", show=False),
        Binding("c", "comment", "Comment the line or the range", show=False),
        Binding("right_curly_bracket", "note(1)", "Next comment or finding", show=False),
        Binding("left_curly_bracket", "note(-1)", "Comment or finding before", show=False),
        Binding("enter,f3", "match(1)", "Next match", show=False),
        # While nothing is searched.
        Binding("enter", "fold_here", "Fold or unfold the file, at its header", show=False),
        Binding("backspace,shift+f3", "match(-1)", "Previous match", show=False),
    ]

    class KeyRemark(Message):
        """A remark on a key is to be shown."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class CommentWanted(Message):
        """The lines from ``first`` to ``last`` of the patch are to be commented."""

        def __init__(self, first: int, last: int) -> None:
            super().__init__()
            self.first = first
            self.last = last

    matches: tuple[int, ...] = ()
    accepts_comments = False
    no_notes = NO_NOTES
    """What is said where no line has a comment or a finding."""
    mark: int | None = None
    """The line at which a range was begun."""

    def _set_patch(self, patch: Patch) -> None:
        super()._set_patch(patch)
        if patch.files:
            self._find_moved(patch)

    @work(thread=True, exclusive=True, group="moved")
    def _find_moved(self, patch: Patch) -> None:
        """Find moved lines while the patch is looked at already."""
        worker, moved = get_current_worker(), moved_lines(patch)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._dim, patch, moved)

    def _dim(self, patch: Patch, moved: frozenset[int]) -> None:
        # Another patch may be shown by now.
        if patch is self.patch and moved:
            self._painter.moved = moved
            self.repaint()
            self.post_message(self.Folded())

    @property
    def moved(self) -> int:
        """How many lines are dim."""
        return len(self._painter.moved)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Enter to others unless a search is on."""
        del parameters
        if action in {"range", "extend", "comment"}:
            return self.accepts_comments
        if action == "fold_here":
            return not self.needle and self.row is not None and self.row.kind is RowKind.FILE
        return action != "match" or bool(self.needle)

    def is_marked(self, row: int) -> bool:
        """Whether a row is in the range, or under the cursor."""
        if self.mark is None:
            return super().is_marked(row)
        start = self.rows.row_of(self.mark)
        return min(start, self.cursor) <= row <= max(start, self.cursor)

    def action_range(self) -> None:
        """Begin a range at the line under the cursor, or give it up."""
        row = self.row
        self.mark = None if row is None or self.mark is not None else row.line
        self._range_changed()

    def _range_changed(self) -> None:
        self.refresh()
        # What esc does depends on it.
        self.refresh_bindings()

    def action_extend(self, rows: int) -> None:
        """Begin a range if there is none, and move its end."""
        if self.mark is None:
            self.action_range()
        self.action_move(rows)

    def action_comment(self) -> None:
        """Ask for a comment on the line under the cursor, or on the range."""
        row = self.row
        if row is None:
            return
        first = row.line if self.mark is None else self.mark
        self.mark = None
        self.post_message(self.CommentWanted(first, row.line))
        self._range_changed()

    @property
    def copied_text(self) -> str:
        """The place under the cursor as ``path:line``, or the lines of the range."""
        row = self.row
        if row is None:
            return ""
        if self.mark is not None:
            first, last = sorted((self.mark, row.line))
            return "\n".join(self.patch.lines[first : last + 1])
        path, numbers = self.patch.files[row.file].path, self.patch.numbers(row.line)
        number = numbers.new or numbers.old
        return path if number is None else f"{path}:{number}"

    def go_to_file(self, path: str) -> bool:
        """Move the cursor to the header of a file; return whether it is in the patch."""
        file = next((file for file in self.patch.files if path in (file.path, file.old_path)), None)
        if file is not None:
            self.go_to(file.start, at_top=True)
        return file is not None

    def action_move(self, rows: int) -> None:
        """Move the cursor, or scroll a line that is higher than the screen."""
        if self.is_wrapped and rows > 0 and not self.is_end_in_view(self.cursor):
            self.scroll_strips(1)
        elif self.is_wrapped and rows < 0 and self.top == self.cursor > 0:
            self.scroll_strips(-1)
        else:
            self.move_to(self.cursor + rows)

    def action_page(self, pages: int) -> None:
        rows = pages * max(1, self.size.height - 2)
        self.scroll_to_row(min(self.top + rows, len(self.rows) - self.size.height))
        self.move_to(self.cursor + rows)

    def action_end(self, end: int) -> None:
        self.move_to(end * (len(self.rows) - 1))

    def action_shift(self, steps: int) -> None:
        self.shift(steps * _SHIFT_COLUMNS)

    def action_hunk(self, direction: int) -> None:
        row = self.row
        if row is None:
            return
        here = self.patch.files[row.file].body - 1 if row.kind is RowKind.FILE and direction > 0 else row.line
        hunk = self.patch.hunk_after(here) if direction > 0 else self.patch.hunk_before(here)
        if hunk is None:
            self._remark("the last hunk" if direction > 0 else "the first hunk")
        else:
            self.go_to(hunk.start, at_top=True)

    def action_file(self, direction: int) -> None:
        """Go to the next file; back, to the beginning of this one first."""
        row = self.row
        if row is None:
            return
        is_inside = direction < 0 and row.kind is not RowKind.FILE
        index = row.file + (0 if is_inside else direction)
        if 0 <= index < len(self.patch.files):
            self.go_to(self.patch.files[index].start, at_top=True)
        else:
            self._remark("the last file" if direction > 0 else "the first file")

    def action_fold(self) -> None:
        """Fold or unfold the file under the cursor."""
        row = self.row
        if row is not None:
            self.fold(self.folded ^ {row.file})

    def action_fold_here(self) -> None:
        self.action_fold()

    def action_fold_all(self) -> None:
        """Fold all files, or unfold all where one is folded."""
        self.fold(frozenset() if self.folded else frozenset(range(len(self.patch.files))))

    def action_wrap(self) -> None:
        self.options.is_wrapped = not self.is_wrapped
        self.left = 0
        self.lay_out()
        self._remark("long lines are wrapped" if self.is_wrapped else "long lines scroll with left and right")

    def action_split(self) -> None:
        columns = self.app.size.width
        if not self.options.wants_split and columns < LEAST_SPLIT_COLUMNS:
            self._remark(f"side by side needs {LEAST_SPLIT_COLUMNS} columns; this terminal has {columns}")
            return
        self.options.wants_split = not self.options.wants_split
        self.lay_out()

    def search(self, needle: str) -> None:
        """Search the lines; go to the first match from the cursor on. Capitals matter if there are some."""
        self.needle = needle if any(map(str.isupper, needle)) else needle.lower()
        self.matches = tuple(self._lines_with(self.needle)) if needle else ()
        self.repaint()
        self.refresh_bindings()
        if needle:
            row = self.row
            self._go_to_match(next((line for line in self.matches if row and line >= row.line), None))

    def _lines_with(self, needle: str) -> list[int]:
        """Return the lines that have a text, with the headers of files whose names have it."""
        lines = self.patch.lines
        named = [file.start for file in self.patch.files if find_matches(file.path, needle)]
        if needle == needle.lower():
            found = [index for index, line in enumerate(lines) if needle in line.lower()]
        else:
            found = [index for index, line in enumerate(lines) if needle in line]
        inside = [line for line in found if self._is_in_hunk(line) and find_matches(lines[line][1:], needle)]
        return sorted([*named, *inside])

    @property
    def _match_counts(self) -> str:
        """Count the matches in added, removed and unchanged lines, and in file names."""
        places = Counter(_PLACES.get(self.patch.marks[line], _IN_NAMES) for line in self.matches)
        return ", ".join(
            f"{places[place]} {place}" for place in (*_PLACES.values(), _IN_NAMES) if places[place]
        )

    def _is_in_hunk(self, line: int) -> bool:
        return self.patch.marks[line] not in {"@", NO_NEWLINE} and self.patch.hunk_at(line) is not None

    def action_match(self, direction: int) -> None:
        """Go to the next match, or the one before; after the last, to the first."""
        row = self.row
        if row is None:
            return
        if direction > 0:
            self._go_to_match(next((line for line in self.matches if line > row.line), None))
        else:
            before = [line for line in self.matches if line < row.line]
            self._go_to_match(before[-1] if before else self.matches[-1] if self.matches else None)

    def _go_to_match(self, line: int | None) -> None:
        """Go to a match; None stands for the first of all."""
        if not self.matches:
            self._remark(f"no line and no file name has {self.needle}")
            return
        line = self.matches[0] if line is None else line
        self._go_to_with_context(line)
        place = f"match {self.matches.index(line) + 1} of {len(self.matches)}"
        self._remark(f"{place} ({self._match_counts}): {self.needle}")

    def _go_to_with_context(self, line: int) -> None:
        """Go to a line, and show the lines around it as well."""
        self.go_to(line)
        # Of few rows, those below it are needed for what stands under the line.
        above = self.size.height // 3 if self.size.height > _FEW_ROWS else 0
        self.scroll_to_row(self.cursor - above)
        self.keep_in_view()

    def action_note(self, direction: int) -> None:
        """Go to the next line with a comment or a finding under it, or the one before."""
        lines, row = sorted({note.line for note in self.notes}), self.row
        if row is None or not lines:
            self._remark(self.no_notes)
            return
        further = [line for line in lines if (line - row.line) * direction > 0]
        if not further:
            self._remark(_no_further(direction, is_on_one=row.line in lines))
            return
        line = further[0 if direction > 0 else -1]
        self._go_to_with_context(line)
        can_take = self.accepts_comments and any(note.advice for note in self.notes_here)
        hint = "; t makes the finding your comment" if can_take else ""
        self._remark(f"commented line {lines.index(line) + 1} of {len(lines)}{hint}")

    def on_click(self, event: events.Click) -> None:
        row = self.row_at(event.y)
        if row is not None:
            self.move_to(row)

    def _remark(self, text: str) -> None:
        self.post_message(self.KeyRemark(text))


def _no_further(direction: int, *, is_on_one: bool) -> str:
    """Say that no comment or finding comes after the cursor, or before it, and where there are some."""
    if is_on_one:
        return f"the {'last' if direction > 0 else 'first'} comment or finding"
    return (
        "none after this; { goes to the one before"
        if direction > 0
        else "none before this; } goes to the next"
    )
