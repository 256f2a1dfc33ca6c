"""An index of git's patch: where its files and hunks begin. Lines are looked at when they are shown."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import NamedTuple

from git_blackbird.messages.patch.headers import parse_header
from git_blackbird.model.run.summary import ChangedLines

_FILE, _HUNK = "diff --git ", "@@ "
_RANGES = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_EDITS = re.compile(r"([^-+]*)(-*\\?)(\+*\\?)")
_MIXED = "some lines end with CRLF"
CONTEXT, ADDED, REMOVED, NO_NEWLINE = " ", "+", "-", "\\"


class Hunk(NamedTuple):
    """A hunk: its lines in the patch, with the one that begins with ``@@``, and its first line numbers."""

    start: int
    end: int
    old: int
    new: int


class Edit(NamedTuple):
    """Lines of a file that become others, and the lines of the patch that show them."""

    start: int
    end: int
    lines: ChangedLines


@dataclass(frozen=True)
class FilePatch:
    """A file of a patch: its lines there, and what is told of it.

    ``hides_returns``: the carriage returns at the ends of its lines are told by a fact alone.
    """

    path: str
    old_path: str | None
    word: str
    facts: tuple[str, ...]
    blob: str
    start: int
    end: int
    hunks: tuple[Hunk, ...]
    additions: int
    deletions: int
    hides_returns: bool = False

    @property
    def body(self) -> int:
        """The first line of its first hunk, or its end."""
        return self.hunks[0].start if self.hunks else self.end

    @property
    def content(self) -> str:
        """The id of its content after the change; where that is as before, what else was changed."""
        return self.blob or "\n".join((self.word, *self.facts))


class LineNumbers(NamedTuple):
    """The number of a line before and after; None where the line is not there."""

    old: int | None
    new: int | None


class Patch:
    r"""A patch as git prints it: any number of lines, in files and hunks.

    Each line of a hunk begins with one of `` +-\``, so that no content can look like a header.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.removesuffix("\n").split("\n") if text else []
        # Git drops the mark of an empty line where ``diff.suppressBlankEmpty`` is set.
        self.marks = "".join([line[:1] or CONTEXT for line in self.lines])
        self._has_returns = "\r\n" in text
        self.files = tuple(self._files())
        self._file_starts = [file.start for file in self.files]
        self._hunks = [hunk for file in self.files for hunk in file.hunks]
        self._hunk_starts = [hunk.start for hunk in self._hunks]

    def _files(self) -> list[FilePatch]:
        starts = self._starting("d", _FILE, 0, len(self.lines))
        ends = [*starts[1:], len(self.lines)][: len(starts)]
        return [self._file(start, end) for start, end in zip(starts, ends, strict=True)]

    def _starting(self, mark: str, prefix: str, start: int, end: int) -> list[int]:
        found, place = [], self.marks.find(mark, start, end)
        while place >= 0:
            if self.lines[place].startswith(prefix):
                found.append(place)
            place = self.marks.find(mark, place + 1, end)
        return found

    def _file(self, start: int, end: int) -> FilePatch:
        starts = self._starting("@", _HUNK, start, end)
        hunks = tuple(map(self._hunk, starts, [*starts[1:], end]))
        body = starts[0] if starts else end
        header = parse_header(self.lines[start:body])
        added, removed = (self.marks.count(mark, body, end) for mark in (ADDED, REMOVED))
        file = FilePatch(*header, start, end, hunks, added, removed)
        fact = _endings(self.marks[body:end], self.lines[body:end]) if self._has_returns else ""
        if not fact:
            return file
        return replace(file, facts=(*file.facts, fact), hides_returns=fact != _MIXED)

    def text_of(self, line: int) -> str:
        """Return a line without its mark, and without a carriage return that its file tells of."""
        text = self.lines[line][1:]
        is_told = self._has_returns and self.files[self.file_index(line)].hides_returns
        return text.removesuffix("\r") if is_told else text

    def _hunk(self, start: int, end: int) -> Hunk:
        match = _RANGES.match(self.lines[start])
        return Hunk(start, end, *((int(match[1]), int(match[3])) if match else (1, 1)))

    def file_index(self, line: int) -> int:
        """Return the index of the file that a line belongs to."""
        return max(0, bisect_right(self._file_starts, line) - 1)

    def hunk_at(self, line: int) -> Hunk | None:
        """Return the hunk of a line; None in a header."""
        index = bisect_right(self._hunk_starts, line) - 1
        hunk = self._hunks[index] if index >= 0 else None
        return hunk if hunk is not None and line < hunk.end else None

    def hunk_after(self, line: int) -> Hunk | None:
        """Return the first hunk that begins after a line."""
        index = bisect_right(self._hunk_starts, line)
        return self._hunks[index] if index < len(self._hunks) else None

    def hunk_before(self, line: int) -> Hunk | None:
        """Return the last hunk that begins before a line."""
        index = bisect_right(self._hunk_starts, line - 1) - 1
        return self._hunks[index] if index >= 0 else None

    def numbers(self, line: int) -> LineNumbers:
        """Return the numbers of a line of a hunk in the file before and after."""
        hunk, mark = self.hunk_at(line), self.marks[line]
        if hunk is None or line == hunk.start or mark == NO_NEWLINE:
            return LineNumbers(None, None)
        first, marks = hunk.start + 1, self.marks
        said = line - first - marks.count(NO_NEWLINE, first, line)
        old = hunk.old + said - marks.count(ADDED, first, line)
        new = self.place_after(line)
        return LineNumbers(None if mark == ADDED else old, None if mark == REMOVED else new)

    def edits(self, hunk: Hunk) -> Iterator[Edit]:
        """Yield what a hunk changes, which is the same however many lines of context it has."""
        # A side without lines has the number of the line above.
        found = {*self.marks[hunk.start + 1 : hunk.end]}
        old, new = hunk.old - bool(found & {CONTEXT, REMOVED}), hunk.new - bool(found & {CONTEXT, ADDED})
        for match in _EDITS.finditer(self.marks, hunk.start + 1, hunk.end):
            same = match.end(1) - match.start() - match[1].count(NO_NEWLINE)
            lines = ChangedLines(old + same, match[2].count(REMOVED), new + same, match[3].count(ADDED))
            if lines.old_count or lines.new_count:
                yield Edit(match.start(2), match.end(), lines)
            old, new = lines.old + lines.old_count, lines.new + lines.new_count

    def named_edits(self, file: FilePatch) -> dict[str, Edit]:
        """Return the edits of a file, each by a name that it has as long as its lines are the same."""
        named, alike = dict[str, Edit](), Counter[str]()
        for edit in (edit for hunk in file.hunks for edit in self.edits(hunk)):
            text = "\n".join(self.lines[edit.start : edit.end]).encode(errors="surrogatepass")
            name = blake2b(text, digest_size=12).hexdigest()
            named[f"{name}.{alike[name]}"] = edit
            alike[name] += 1
        return named

    def place_after(self, line: int) -> int:
        """Return the number that a line has after the change, or that the next one has if it was removed."""
        hunk = self.hunk_at(line) or self.hunk_after(line)
        if hunk is None or line <= hunk.start:
            return 1 if hunk is None else hunk.new
        first, marks = hunk.start + 1, self.marks
        left_out = marks.count(NO_NEWLINE, first, line) + marks.count(REMOVED, first, line)
        return hunk.new + line - first - left_out

    def line_of(self, file: FilePatch, number: int, *, is_old: bool = False) -> int | None:
        """Return the line of the patch that has a number in the file after the change, or before it."""
        for hunk in file.hunks:
            first = hunk.old if is_old else hunk.new
            if not first <= number <= first + hunk.end - hunk.start:
                continue
            lines = range(hunk.start + 1, hunk.end)
            count = partial(self._count, hunk.start + 1, ADDED if is_old else REMOVED)
            index = bisect_left(lines, number - first + 1, key=count)
            if index < len(lines):
                return lines[index]
        return None

    def _count(self, start: int, left_out: str, line: int) -> int:
        """Count the lines from ``start`` to a line that are in the file on one side."""
        marks, end = self.marks, line + 1
        return end - start - marks.count(left_out, start, end) - marks.count(NO_NEWLINE, start, end)

    def with_file(self, file: FilePatch, other: "Patch") -> "Patch":
        """Return a patch in which a file is as in another one; this, where that does not have it."""
        # A file that became a link is there twice, deleted and added.
        same = next((one for one in other.files if (one.path, one.word) == (file.path, file.word)), None)
        if same is None:
            return self
        before, after = self.lines[: file.start], self.lines[file.end :]
        return Patch("\n".join([*before, *other.lines[same.start : same.end], *after]))

    def beginning_with(self, files: AbstractSet[int]) -> "Patch":
        """Return a patch in which the files of these indexes come first; all else keeps its order."""
        order = sorted(range(len(self.files)), key=lambda index: index not in files)
        if order == [*range(len(self.files))]:
            return self
        spans = (range(self.files[index].start, self.files[index].end) for index in order)
        return Patch("".join(f"{self.lines[line]}\n" for span in spans for line in span))

    @cached_property
    def largest_number(self) -> int:
        """A number that no line's number exceeds."""
        return max((max(hunk.old, hunk.new) + hunk.end - hunk.start for hunk in self._hunks), default=0)


def _endings(marks: str, lines: Sequence[str]) -> str:
    """Return how the lines of a file end, "" if all end with LF; one without an end does not count."""
    ends: dict[str, set[bool]] = {ADDED: set(), REMOVED: set(), CONTEXT: set()}
    for index, mark in enumerate(marks):
        if mark in ends and not marks.startswith(NO_NEWLINE, index + 1):
            ends[mark].add(lines[index].endswith("\r"))
    before, after, everywhere = ends[REMOVED], ends[ADDED], set().union(*ends.values())
    if len(before) == len(after) == 1 and before != after:
        return f"line endings changed: {'CRLF to LF' if True in before else 'LF to CRLF'}"
    if everywhere == {True}:
        return "lines end with CRLF"
    return _MIXED if True in everywhere else ""
