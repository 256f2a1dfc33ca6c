"""The files of a change beside its diff: what happened to each, and whether someone has read it."""

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from git_blackbird.messages.display.format import render_path
from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.patch.parse import Edit, FilePatch, Patch
from git_blackbird.model.run.summary import ChangedLines, ChangePart
from git_blackbird.tui.widgets.bars import SingleLineInput
from git_blackbird.tui.widgets.diff.rows import DiffOptions
from git_blackbird.tui.widgets.searching import find_matches

OVERVIEW = 0
"""The line above the files."""
_LETTERS = {"added": "A", "deleted": "D", "renamed": "R", "copied": "C"}
_READ, _LEFT_OUT, _PARTLY, _UNREAD, _COMMENTED, _FOUND = "✓", "✗", "◐", " ", "*", "!"
_SIGN_COLUMNS, _SCROLL_BAR_COLUMNS = 4, 1
_LEAST_COLUMNS = 32
_MOST_PERCENT = 38
_FEWEST_PATH_COLUMNS = 8
_NONE: frozenset[str] = frozenset()


@dataclass
class ReviewMarks:
    """The files of a change that someone has read, and the paths and edits that are not to be approved.

    ``read`` has the content that each path had then, and ``edits`` are known by theirs, so that marks stay
    through the rounds of a change; ``keep`` saves all. ``options`` say how diffs are shown, for all changes.
    """

    read: dict[str, str] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    edits: dict[str, frozenset[str]] = field(default_factory=dict)
    options: DiffOptions = field(default_factory=DiffOptions)
    keep: Callable[[dict[str, str], set[str], dict[str, frozenset[str]]], None] = lambda *_: None

    def is_read(self, file: FilePatch) -> bool:
        """Whether a file was read as it is now."""
        known = self.read.get(file.path)
        # Git abbreviates ids as far as they differ from others, which later ones may have changed.
        return known is not None and (known.startswith(file.content) or file.content.startswith(known))

    def toggle_read(self, files: Sequence[FilePatch]) -> bool:
        """Mark files as read, or take the marks away where all have them; return whether they are read."""
        was_read = all(map(self.is_read, files))
        for file in files:
            if was_read:
                del self.read[file.path]
            else:
                self.read[file.path] = file.content
        self.keep(self.read, self.left_out, self.edits)
        return not was_read

    def toggle_left_out(self, files: Sequence[FilePatch]) -> None:
        """Leave files out of an approval, or take them in where all are left out."""
        paths = {file.path for file in files}
        self.left_out = self.left_out - paths if paths <= self.left_out else self.left_out | paths
        self.edits = {path: keys for path, keys in self.edits.items() if path not in paths}
        self.keep(self.read, self.left_out, self.edits)

    def toggle_edits(self, patch: Patch, file: FilePatch, lines: Collection[ChangedLines]) -> None:
        """Leave some edits of a file out of an approval, or take them in where all are left out.

        ``patch`` is that of the whole change.
        """
        named = patch.named_edits(file)
        wanted = {name for name, edit in named.items() if edit.lines in lines}
        out = self._names_out(file, named)
        self._leave_out(file, named, out - wanted if wanted <= out else out | wanted)
        self.keep(self.read, self.left_out, self.edits)

    def settle(self, patch: Patch) -> None:
        """Forget edits that are no part of the whole change any more."""
        for file in patch.files:
            if file.path in self.edits:
                named = patch.named_edits(file)
                self._leave_out(file, named, self._names_out(file, named))

    def _names_out(self, file: FilePatch, named: Mapping[str, Edit]) -> frozenset[str]:
        is_whole = file.path in self.left_out
        return frozenset(named) if is_whole else self.edits.get(file.path, _NONE) & named.keys()

    def _leave_out(self, file: FilePatch, named: Mapping[str, Edit], out: frozenset[str]) -> None:
        """Leave these edits of a file out; with all of them goes the file."""
        self.left_out.discard(file.path)
        self.edits.pop(file.path, None)
        if len(out) == len(named):
            self.left_out.add(file.path)
        elif out:
            self.edits[file.path] = out

    def sign_lines(self, whole: Patch, patch: Patch) -> dict[int, str]:
        """Return the signs of the lines of a patch that are left out, and of the heads of their hunks."""
        signs: dict[int, str] = {}
        marked = self.left_out | self.edits.keys()
        known = {file.path: file for file in whole.files if file.path in marked}
        for file in patch.files:
            if file.path in known:
                named = whole.named_edits(known[file.path])
                out = {named[name].lines for name in self._names_out(known[file.path], named)}
                for hunk in file.hunks:
                    edits = list(patch.edits(hunk))
                    left = [edit for edit in edits if edit.lines in out]
                    for edit in left:
                        signs |= dict.fromkeys(range(edit.start, edit.end), "")
                    if left:
                        signs[hunk.start] = _LEFT_OUT if len(left) == len(edits) else _PARTLY
        return signs

    def mark(self, *files: FilePatch) -> str:
        """Return the sign before a path, or before a folder with these files."""
        left_out = [file.path in self.left_out for file in files]
        if any(left_out) or any(file.path in self.edits for file in files):
            return _LEFT_OUT if all(left_out) else _PARTLY
        return _READ if all(map(self.is_read, files)) else _UNREAD

    def approved_parts(self, patch: Patch) -> tuple[ChangePart, ...]:
        """Return what of the whole change is not left out."""
        return tuple(
            ChangePart(file.path, self._approved_lines(patch, file), file.old_path)
            for file in patch.files
            if file.path not in self.left_out
        )

    def _approved_lines(self, patch: Patch, file: FilePatch) -> tuple[ChangedLines, ...] | None:
        """Return the edits of a file that are not left out; None for the whole file."""
        if file.path not in self.edits:
            return None
        named = patch.named_edits(file)
        out = self._names_out(file, named)
        return tuple(edit.lines for name, edit in named.items() if name not in out) if out else None


class FileList(OptionList):
    """Lists "Overview" and the files of a diff; the marks are changed by the screen.

    A folded folder is one line for all files below it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "cursor_down", "Next line", show=False),
        Binding("up,k", "cursor_up", "Line before", show=False),
        Binding("pagedown", "page_down", "Page down", show=False),
        Binding("pageup", "page_up", "Page up", show=False),
        Binding("home", "first", "First file", show=False),
        Binding("end", "last", "Last file", show=False),
        Binding("enter", "select", "Go to its lines, or unfold the folder", show=False),
        Binding("z", "fold", "Fold the file's folder, or unfold it", show=False),
        Binding("Z", "fold_all", "Fold all folders, or unfold them", show=False),
        Binding("slash", "search", "Search a file by its name", show=False),
    ]

    def __init__(self, marks: ReviewMarks, *, id: str) -> None:
        super().__init__(id=id)
        self.search_field = FileSearch(self)
        self._marks = marks
        self._files: Sequence[FilePatch] = ()
        self._folded: set[str] = set()
        self._shown: list[FilePatch | str] = []
        self._added_columns = self._removed_columns = self._stat_columns = 0
        self._commented: Counter[str] = Counter()
        self._commented_before: frozenset[str] = frozenset()
        self._found: frozenset[str | None] = frozenset()
        self.add_options(self._rows())

    @property
    def current(self) -> FilePatch | None:
        """The file under the cursor; None on the overview and on a folder."""
        line = self._line_here
        return line if isinstance(line, FilePatch) else None

    @property
    def folder(self) -> str | None:
        """The folded folder under the cursor, with a slash at its end."""
        line = self._line_here
        return line if isinstance(line, str) else None

    @property
    def files_here(self) -> Sequence[FilePatch]:
        """The file under the cursor, or all files of the folded folder."""
        return self._below(self.folder) if self.folder else [self.current] if self.current else ()

    def _below(self, folder: str) -> Sequence[FilePatch]:
        return [file for file in self._files if file.path.startswith(folder)]

    @property
    def _line_here(self) -> FilePatch | str | None:
        index = (self.highlighted or OVERVIEW) - 1
        return self._shown[index] if 0 <= index < len(self._shown) else None

    @property
    def copied_text(self) -> str:
        """The path of the file under the cursor."""
        return "" if self.current is None else self.current.path

    def show(self, files: Sequence[FilePatch]) -> None:
        """Show the files of a diff, unless they are shown already."""
        if files is not self._files:
            self._files = files
            # Counts stand below each other, each with its sign and a space before it.
            self._added_columns = len(f" +{max((file.additions for file in files), default=0)}")
            self._removed_columns = len(f" -{max((file.deletions for file in files), default=0)}")
            words = max((len(f" {_word_for_lines(file)}") for file in files), default=0)
            self._stat_columns = max(self._added_columns + self._removed_columns, words)
            self.show_marks()
            # They may need another width.
            self.refresh(layout=True)

    def show_comments(self, paths: Iterable[str], before: Iterable[str] = ()) -> None:
        """Mark the files that are commented; a path comes once for each comment.

        ``before`` are those that earlier requests had comments on.
        """
        self._commented, self._commented_before = Counter(paths), frozenset(before)
        self.show_marks()

    def show_findings(self, paths: Iterable[str | None]) -> None:
        """Mark the files in which reviewers found something."""
        self._found = frozenset(paths)
        self.show_marks()

    def show_marks(self) -> None:
        """Draw all lines again, with the cursor where it is."""
        highlighted = self.highlighted or OVERVIEW
        with self.prevent(OptionList.OptionHighlighted):
            self.set_options(self._rows())
            self.highlighted = min(highlighted, len(self._shown))
        read = sum(map(self._marks.is_read, self._files))
        comments = f", {counted(self._commented.total(), 'comment')}" if self._commented else ""
        self.border_title = f"{read} of {len(self._files)} read{comments}" if self._files else ""
        self.border_subtitle = "  ".join(self._legend())

    def follow(self, file: FilePatch | None) -> None:
        """Put the cursor on a file that the diff has reached."""
        if file is not None and file in self._files and file is not self.current:
            with self.prevent(OptionList.OptionHighlighted):
                self.highlighted = self._index_of(file)

    def _index_of(self, file: FilePatch) -> int:
        """Return the line of a file, or of the folded folder that has it."""
        return self._shown.index(self._folded_folder(file) or file) + 1

    def _folded_folder(self, file: FilePatch) -> str | None:
        return next((folder for folder in self._folded if file.path.startswith(folder)), None)

    def action_fold(self) -> None:
        """Unfold the folder under the cursor, or fold that of the file."""
        file, folder = self._file_here, self.folder
        if folder is not None:
            self._show_folded(self._folded - {folder}, file)
        elif file is not None and "/" in file.path:
            self._show_folded({*self._folded, f"{posixpath.dirname(file.path)}/"}, file)

    @property
    def _file_here(self) -> FilePatch | None:
        """The file under the cursor, or the first of the folder."""
        return next(iter(self.files_here), None)

    def action_fold_all(self) -> None:
        """Fold the folders at the top, or unfold all."""
        top = {f"{file.path.partition('/')[0]}/" for file in self._files if "/" in file.path}
        self._show_folded(set() if self._folded else top, self._file_here)

    def _show_folded(self, folders: set[str], file: FilePatch | None) -> None:
        """Fold these folders alone, with the cursor on the line that has a file."""
        self._folded = {
            one for one in folders if not any(one != top and one.startswith(top) for top in folders)
        }
        self.show_marks()
        self.follow(file)

    def find(self, needle: str, start: int) -> None:
        """Put the cursor on the first file from line ``start`` on whose name has a text, and count them."""
        if self._folded:
            self._show_folded(set(), self.current)
        found = [index for index, file in enumerate(self._files, 1) if find_matches(file.path, needle)]
        if found:
            self.highlighted = next((index for index in found if index >= start), found[0])
        self.border_subtitle = f"{len(found)} of {counted(len(self._files), 'file')}" if needle else ""

    def action_search(self) -> None:
        self.search_field.open()

    def action_first(self) -> None:
        """Go to the first file; the overview is the line before."""
        self.highlighted = min(1, len(self._files))

    def get_content_width(self, container: Size, viewport: Size) -> int:
        """Take what the longest path needs, up to a part of the screen."""
        del container
        most = max(_LEAST_COLUMNS, viewport.width * _MOST_PERCENT // 100)
        paths = (cell_len(render_path(file.path)) for file in self._files)
        needed = _SIGN_COLUMNS + max(paths, default=0) + self._stat_columns + _SCROLL_BAR_COLUMNS
        return max(_LEAST_COLUMNS, min(needed, most))

    def on_resize(self, event: events.Resize) -> None:
        """Fit the paths into the width."""
        del event
        self.show_marks()

    def _legend(self) -> Iterator[str]:
        """Yield the signs that are to be seen, with their meaning."""
        paths = {file.path for file in self._files}
        if any(self._marks.mark(file) == _READ for file in self._files):
            yield f"{_READ} read"
        if paths & self._marks.left_out:
            yield f"{_LEFT_OUT} left out"
        shown = (self._below(line) if isinstance(line, str) else [line] for line in self._shown)
        if any(self._marks.mark(*files) == _PARTLY for files in shown):
            yield f"{_PARTLY} in part"
        if paths & (self._commented.keys() | self._commented_before):
            yield f"{_COMMENTED} commented"
        if any(self._has_findings(file) for file in self._files):
            yield f"{_FOUND} findings"

    def _has_findings(self, file: FilePatch) -> bool:
        return file.path in self._found or (file.old_path is not None and file.old_path in self._found)

    def _rows(self) -> Iterator[Option]:
        yield Option("  Overview")
        # The scroll bar may come and go.
        width = self.content_size.width - _SCROLL_BAR_COLUMNS
        # A folded folder stands where the first of its files does.
        places = ((self._folded_folder(file), file) for file in self._files)
        self._shown = list({folder or file.start: folder or file for folder, file in places}.values())
        for line in self._shown:
            yield Option(self._line(line, width) if isinstance(line, FilePatch) else self._sum(line, width))

    def _sum(self, folder: str, width: int) -> Text:
        """Return the line of a folded folder: what is true of its files, and their numbers."""
        files = self._below(folder)
        notes = {self._note(file) for file in files}
        note = next((sign for sign in (_FOUND, _COMMENTED) if sign in notes), " ")
        added, removed = (sum(counts) for counts in zip(*map(_counts, files), strict=True))
        stat = f" +{added} -{removed}"
        begin = f"{self._marks.mark(*files)}{note}▸ "
        name = f"{render_path(folder)} {counted(len(files), 'file')}"
        room = max(_FEWEST_PATH_COLUMNS, width - cell_len(begin) - cell_len(stat))
        return Text(f"{begin}{_shortened(name, room)}", no_wrap=True).append(stat, "dim")

    def _note(self, file: FilePatch) -> str:
        """Return the sign for what is said of a file."""
        is_commented = file.path in self._commented or file.path in self._commented_before
        # A person knows of the comments; the finding must not be missed.
        return _FOUND if self._has_findings(file) else _COMMENTED if is_commented else " "

    def _line(self, file: FilePatch, width: int) -> Text:
        mark = self._marks.mark(file)
        begin = f"{mark}{self._note(file)}{_letter(file)} "
        added, removed = f"+{file.additions}", f"-{file.deletions}"
        counts = added.rjust(self._added_columns) + removed.rjust(self._removed_columns)
        stat = (_word_for_lines(file) or counts).rjust(self._stat_columns)
        room = max(_FEWEST_PATH_COLUMNS, width - cell_len(begin) - cell_len(stat))
        path = Text(_shortened(render_path(file.path), room))
        if mark == _LEFT_OUT:
            path.stylize("strike", 0, len(path.plain.rstrip()))
        line = Text(begin, no_wrap=True).append_text(path).append(stat, "dim")
        if mark == _LEFT_OUT:
            line.stylize("dim")
        return line


class FileSearch(SingleLineInput):
    """A part of a file's name: the cursor of the list goes along with what is typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "Back to the file before", show=False),
        Binding("down,f3", "next", "Next file found", show=False),
    ]

    def __init__(self, files: FileList) -> None:
        super().__init__(placeholder="part of a file's name", classes="diff-search")
        self.display = False
        self._files = files
        self._start = OVERVIEW

    def open(self) -> None:
        """Begin to search."""
        self._start = self._files.highlighted or OVERVIEW
        self.value = ""
        self.display = True
        # At once: the next key belongs to it.
        self.screen.set_focus(self)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self._files.find(event.value, self._start)

    def action_next(self) -> None:
        self._files.find(self.value, (self._files.highlighted or OVERVIEW) + 1)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Stay at the file that was found."""
        event.stop()
        self._close()

    def action_give_up(self) -> None:
        self._files.highlighted = self._start
        self._close()

    def _close(self) -> None:
        self.display = False
        self._files.show_marks()
        self._files.focus()


def _counts(file: FilePatch) -> tuple[int, int]:
    return file.additions, file.deletions


def _letter(file: FilePatch) -> str:
    """Return the letter for what happened to a file, as git has it."""
    return next((letter for word, letter in _LETTERS.items() if word in file.word), "M")


def _word_for_lines(file: FilePatch) -> str:
    """Return the word for a file without counts of lines; "" if it has them."""
    if "binary" in file.word:
        return "binary"
    return "mode" if file.word == "mode changed" else ""


def _shortened(path: str, room: int) -> str:
    """Cut a path at its beginning: its end tells files apart."""
    if cell_len(path) <= room:
        return set_cell_size(path, room)
    while cell_len(path) >= room:
        path = path[1:]
    return set_cell_size(f"…{path}", room)
