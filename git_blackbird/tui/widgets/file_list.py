"""The files of a change beside its diff: what happened to each, and whether someone has read it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from git_blackbird.messages.display.format import counted, render_path
from git_blackbird.messages.patch.parse import FilePatch

OVERVIEW = 0
"""The line above the files."""
_LETTERS = {"added": "A", "deleted": "D", "renamed": "R", "copied": "C"}
_READ, _LEFT_OUT, _UNREAD, _COMMENTED = "✓", "-", " ", "*"


@dataclass
class ReviewMarks:
    """The paths of a change that someone has read, and those that are not to be approved."""

    read: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)

    def mark(self, path: str) -> str:
        """Return the sign before a path."""
        if path in self.left_out:
            return _LEFT_OUT
        return _READ if path in self.read else _UNREAD


class FileList(OptionList):
    """Lists "Overview" and the files of a diff; the marks are changed by the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]

    def __init__(self, marks: ReviewMarks, *, id: str) -> None:  # noqa: A002  # as every widget calls it
        super().__init__(Option("Overview"), id=id)
        self._marks = marks
        self._files: Sequence[FilePatch] = ()
        self._commented: Counter[str] = Counter()

    @property
    def current(self) -> FilePatch | None:
        """The file under the cursor; None on the overview."""
        index = (self.highlighted or OVERVIEW) - 1
        return self._files[index] if 0 <= index < len(self._files) else None

    @property
    def copied_text(self) -> str:
        """The path of the file under the cursor."""
        return "" if self.current is None else self.current.path

    def show(self, files: Sequence[FilePatch]) -> None:
        """Show the files of a diff, unless they are shown already."""
        if files is not self._files:
            self._files = files
            self.show_marks()

    def show_comments(self, paths: Iterable[str]) -> None:
        """Mark the files that are commented; a path comes once for each comment."""
        self._commented = Counter(paths)
        self.show_marks()

    def show_marks(self) -> None:
        """Draw all lines again, with the cursor where it is."""
        highlighted = self.highlighted or OVERVIEW
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(self._rows())
            self.highlighted = min(highlighted, len(self._files))
        read = sum(file.path in self._marks.read for file in self._files)
        comments = f", {counted(self._commented.total(), 'comment')}" if self._commented else ""
        self.border_title = f"{read} of {len(self._files)} read{comments}" if self._files else ""

    def follow(self, file: FilePatch | None) -> None:
        """Put the cursor on a file that the diff has reached."""
        if file is not None and file in self._files and file is not self.current:
            with self.prevent(OptionList.OptionHighlighted):
                self.highlighted = self._files.index(file) + 1

    def on_resize(self, event: events.Resize) -> None:
        """Fit the paths into the width."""
        del event
        self.show_marks()

    def _rows(self) -> Iterator[Option]:
        yield Option("  Overview")
        # Less the border, and a scroll bar that may come.
        width = self.size.width - (0 if self.show_vertical_scrollbar else 1)
        for file in self._files:
            yield Option(self._line(file, width))

    def _line(self, file: FilePatch, width: int) -> Text:
        commented = _COMMENTED if file.path in self._commented else " "
        begin = f"{self._marks.mark(file.path)}{commented}{_LETTERS.get(file.word, 'M')} "
        stat = f" +{file.additions} -{file.deletions}"
        room = max(8, width - cell_len(begin) - cell_len(stat))
        line = Text(begin, no_wrap=True).append(_shortened(render_path(file.path), room)).append(stat, "dim")
        if file.path in self._marks.left_out:
            line.stylize("dim")
        return line


def _shortened(path: str, room: int) -> str:
    """Cut a path at its beginning: its end tells files apart."""
    if cell_len(path) <= room:
        return set_cell_size(path, room)
    while cell_len(path) >= room:
        path = path[1:]
    return set_cell_size(f"…{path}", room)
