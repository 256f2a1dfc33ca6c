"""The rows of a patch on a screen: in one column or side by side, with folded files and notes between lines.

Rows are found when they are drawn: a patch may have a million.
"""

import re
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


_Lines = tuple[int, int]


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
    """Rows of one kind below each other; the lines of each side, and how many there are."""

    kind: RowKind
    file: int
    left: int
    left_count: int
    right: int
    right_count: int
    row: int = 0

    @property
    def rows(self) -> int:
        return max(self.left_count, self.right_count)


class Layout:
    """The rows of a patch. ``notes``: how many rows stand under a line of the patch."""

    def __init__(
        self,
        patch: Patch,
        folded: frozenset[int] = frozenset(),
        notes: Mapping[int, int] | None = None,
        *,
        is_split: bool = False,
    ) -> None:
        self.patch = patch
        self._folded = folded
        self._notes = sorted((notes or {}).items())
        self._is_split = is_split
        self._blocks: list[_Block] = []
        self._count = 0
        for index, file in enumerate(patch.files):
            self._add_file(index, file)
        self._rows = [block.row for block in self._blocks]
        lines = [block for block in self._blocks if block.kind in {RowKind.FILE, RowKind.LINES}]
        self._of_lines = lines
        self._firsts = [block.left for block in lines]

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> Row:
        block = self._blocks[bisect_right(self._rows, index) - 1]
        offset = index - block.row
        if block.kind is not RowKind.LINES:
            return Row(block.kind, block.file, block.left, block.left, offset)
        left = block.left + offset if offset < block.left_count else -1
        right = block.right + offset if offset < block.right_count else -1
        return Row(block.kind, block.file, left, right)

    def row_of(self, line: int) -> int:
        """Return the row of a line of the patch; that of its file, where it is folded or has none."""
        if not self._of_lines:
            return 0
        block = self._of_lines[max(0, bisect_right(self._firsts, line) - 1)]
        if block.kind is RowKind.FILE:
            return block.row
        start = block.right if block.right_count and block.right <= line else block.left
        return block.row + min(max(0, line - start), block.rows - 1)

    def _add(self, kind: RowKind, file: int, left: _Lines, right: _Lines) -> None:
        self._blocks.append(_Block(kind, file, *left, *right, self._count))
        self._count += max(left[1], right[1])

    def _add_file(self, index: int, file: FilePatch) -> None:
        top = file.start, 1
        self._add(RowKind.FILE, index, top, top)
        if index in self._folded:
            return
        if file.facts:
            facts = file.start, len(file.facts)
            self._add(RowKind.FACT, index, facts, facts)
        if not self._notes and not self._is_split:
            self._add_lines(index, file.body, file.end)
            return
        for start, end, rows in self._between_notes(file.body, file.end):
            self._add_lines(index, start, end)
            if rows:
                note = end - 1, rows
                self._add(RowKind.NOTE, index, note, note)

    def _add_lines(self, index: int, start: int, end: int) -> None:
        if self._is_split:
            for left, right in _paired(self.patch, start, end):
                self._add(RowKind.LINES, index, left, right)
        elif start < end:
            both = start, end - start
            self._add(RowKind.LINES, index, both, both)

    def _between_notes(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the lines up to each note, and the rows of the note below them."""
        place = bisect_right(self._notes, (start, -1))
        while place < len(self._notes) and self._notes[place][0] < end:
            line, rows = self._notes[place]
            yield start, line + 1, rows
            start, place = line + 1, place + 1
        yield start, end, 0


# Removed lines with those added in their place; all others stand on both sides.
_GROUPS = re.compile(r"(-+\\?)?(\++\\?)?([^-+]*)")


def _paired(patch: Patch, start: int, end: int) -> Iterator[tuple[_Lines, _Lines]]:
    """Yield lines that stand side by side: removed ones beside those added in their place."""
    for match in _GROUPS.finditer(patch.marks, start, end):
        before, middle, after = match.end(1), match.end(2), match.end()
        place = match.start()
        old = before - place if before >= 0 else 0
        new = middle - place - old if middle >= 0 else 0
        if old or new:
            yield (place, old), (place + old, new)
        both = place + old + new
        if both < after:
            yield (both, after - both), (both, after - both)
