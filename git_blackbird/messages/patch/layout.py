"""The rows of a patch on a screen: in one column or side by side, with folded files and notes between lines.

Rows are found when they are drawn: a patch may have a million.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from typing import NamedTuple

from git_blackbird.messages.patch.parse import FilePatch, Patch


class RowKind(Enum):
    """What a row shows."""

    FILE = auto()
    FACT = auto()
    LINES = auto()
    NOTE = auto()


class Row(NamedTuple):
    """A row: of a file, with the lines of the patch to the left and to the right; -1 stands for none.

    In one column, both are the same. ``part`` counts the facts of a file, or the rows of a note.
    """

    kind: RowKind
    file: int
    left: int
    right: int
    part: int = 0

    @property
    def line(self) -> int:
        """The line of the patch that the row stands for: the new one, where there is one."""
        return self.right if self.right >= 0 else self.left


class _Block(NamedTuple):
    """Rows of one kind below each other, from a line of the patch on; side by side where there are pairs."""

    kind: RowKind
    file: int
    line: int
    rows: int
    row: int
    pairs: "_Pairs | None" = None


# Removed lines with those added in their place; all others stand on both sides.
_GROUPS = re.compile(r"(-+\\?)?(\++\\?)?([^-+]*)")


class _Pairs:
    """Lines of a patch side by side: removed ones beside those added in their place.

    There may be many groups of them, so that they are kept as numbers.
    """

    def __init__(self, marks: str, start: int, end: int) -> None:
        self._rows, self._lines, self._olds = array("L"), array("L"), array("L")
        self._news, self.count = array("L"), 0
        for match in _GROUPS.finditer(marks, start, end):
            place, middle = match.start(), match.start(3)
            removed = max(0, match.end(1) - place)
            added = middle - place - removed
            if middle > place:
                self._add(place, removed, added, max(removed, added))
            if middle < match.end():
                self._add(middle, 0, 0, match.end() - middle)

    def _add(self, line: int, removed: int, added: int, rows: int) -> None:
        """Add a group; one without removed and added lines is the same on both sides."""
        self._rows.append(self.count)
        self._lines.append(line)
        self._olds.append(removed)
        self._news.append(added)
        self.count += rows

    def sides(self, row: int) -> tuple[int, int]:
        """Return the lines of a row; -1 where a side has none."""
        group = bisect_right(self._rows, row) - 1
        offset, line = row - self._rows[group], self._lines[group]
        removed, added = self._olds[group], self._news[group]
        if not removed and not added:
            return line + offset, line + offset
        return line + offset if offset < removed else -1, line + removed + offset if offset < added else -1

    def row_of(self, line: int) -> int:
        """Return the row of a line."""
        group = bisect_right(self._lines, line) - 1
        offset, removed = line - self._lines[group], self._olds[group]
        return self._rows[group] + (offset - removed if offset >= removed else offset)


class SideBySide:
    """How the lines of a patch stand side by side; kept while rows are laid out again and again."""

    def __init__(self, patch: Patch) -> None:
        self._patch = patch
        self._known: dict[tuple[int, int], _Pairs] = {}

    def pairs(self, start: int, end: int) -> _Pairs:
        """Return the lines from one to before another."""
        known = self._known.get((start, end))
        if known is None:
            known = self._known[start, end] = _Pairs(self._patch.marks, start, end)
        return known


class Layout:
    """The rows of a patch. ``notes``: how many rows stand under a line of the patch.

    Those of the first line of a file, and all of a folded one, stand below its head.
    """

    def __init__(
        self,
        patch: Patch,
        folded: frozenset[int] = frozenset(),
        notes: Mapping[int, int] | None = None,
        side_by_side: SideBySide | None = None,
    ) -> None:
        self.patch = patch
        self._folded = folded
        self._notes = sorted((notes or {}).items())
        self._side_by_side = side_by_side
        self._blocks: list[_Block] = []
        self._count = 0
        for index, file in enumerate(patch.files):
            self._add_file(index, file)
        self._rows = [block.row for block in self._blocks]
        lines = [block for block in self._blocks if block.kind in {RowKind.FILE, RowKind.LINES}]
        self._of_lines = lines
        self._firsts = [block.line for block in lines]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Row:
        block = self._blocks[bisect_right(self._rows, index) - 1]
        offset = index - block.row
        if block.kind is not RowKind.LINES:
            return Row(block.kind, block.file, block.line, block.line, offset)
        if block.pairs is not None:
            return Row(block.kind, block.file, *block.pairs.sides(offset))
        return Row(block.kind, block.file, block.line + offset, block.line + offset)

    def row_of(self, line: int) -> int:
        """Return the row of a line of the patch; that of its file, where it is folded or has none."""
        if not self._of_lines:
            return 0
        block = self._of_lines[max(0, bisect_right(self._firsts, line) - 1)]
        if block.kind is RowKind.FILE:
            return block.row
        offset = line - block.line if block.pairs is None else block.pairs.row_of(line)
        return block.row + min(max(0, offset), block.rows - 1)

    def _add(self, kind: RowKind, file: int, line: int, rows: int, pairs: _Pairs | None = None) -> None:
        self._blocks.append(_Block(kind, file, line, rows, self._count, pairs))
        self._count += rows

    def _add_file(self, index: int, file: FilePatch) -> None:
        self._add(RowKind.FILE, index, file.start, 1)
        for _, end, rows in self._between_notes(file.start, self._end_of_head(index, file)):
            if rows:
                self._add(RowKind.NOTE, index, end - 1, rows)
        if index in self._folded:
            return
        if file.facts:
            self._add(RowKind.FACT, index, file.start, len(file.facts))
        for start, end, rows in self._between_notes(file.body, file.end):
            if start < end:
                pairs = None if self._side_by_side is None else self._side_by_side.pairs(start, end)
                self._add(RowKind.LINES, index, start, end - start if pairs is None else pairs.count, pairs)
            if rows:
                self._add(RowKind.NOTE, index, end - 1, rows)

    def _end_of_head(self, index: int, file: FilePatch) -> int:
        """Return the line up to which notes stand below the head of a file; a folded one has all there."""
        return file.end if index in self._folded else file.body

    def _between_notes(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the lines up to each note, and the rows of the note below them."""
        place = bisect_right(self._notes, (start, -1))
        while place < len(self._notes) and self._notes[place][0] < end:
            line, rows = self._notes[place]
            yield start, line + 1, rows
            start, place = line + 1, place + 1
        yield start, end, 0
