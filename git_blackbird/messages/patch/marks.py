"""The lines of a patch that no test ran, or that no check of the change is known to notice."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.patch.parse import ADDED, FilePatch, Patch
from git_blackbird.model.base.ranges import parse_ranges

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import ChangeCoverage, Evidence
    from git_blackbird.model.run.proof import ProvenPart

MISSED = "#"  # as gcov prints them
BY_NOTHING = "?"
_MEANINGS = {MISSED: "that no test ran", BY_NOTHING: "that nothing notices"}


def marked_lines(patch: Patch, evidence: "Evidence | None") -> Mapping[int, str]:
    """Return the marks of lines; nothing is known of those of a file that has another content by now."""
    if evidence is None:
        return {}
    marks = dict.fromkeys(_missed(patch, evidence.coverage), MISSED)
    return marks | dict.fromkeys(_lines_of(patch, evidence.by_nothing), BY_NOTHING)


def unnoticed_first(patch: Patch, evidence: "Evidence | None") -> Patch:
    """Return a patch that begins with the files in which nothing notices some lines."""
    unnoticed = set[int]() if evidence is None else _lines_of(patch, evidence.by_nothing)
    return patch.beginning_with({*map(patch.file_index, unnoticed)})


def _missed(patch: Patch, coverage: "ChangeCoverage | None") -> Iterator[int]:
    for file in () if coverage is None else coverage.files:
        for at in _files_with(patch, file.content):
            lines = (patch.line_of(at, number) for number in parse_ranges(file.lines))
            yield from (line for line in lines if line is not None and patch.marks[line] == ADDED)


def _files_with(patch: Patch, content: str) -> Iterator[FilePatch]:
    """Yield the files with a content, by its id; that may be abbreviated in a patch."""
    yield from (file for file in patch.files if file.blob and content.startswith(file.blob))


def _lines_of(patch: Patch, parts: "Iterable[ProvenPart]") -> AbstractSet[int]:
    lines = set[int | None]()
    for hunk in (hunk for part in parts for hunk in part.hunks):
        for file in (file for file in _files_with(patch, hunk.content) if file.path == hunk.path):
            added = range(hunk.new + 1, hunk.new + hunk.new_count + 1)
            removed = range(hunk.old + 1, hunk.old + hunk.old_count + 1)
            lines.update(patch.line_of(file, number) for number in added)
            lines.update(patch.line_of(file, number, is_old=True) for number in removed)
    return {line for line in lines if line is not None}


def marks_words(marks: Mapping[int, str]) -> str:
    """Return what the marks mean; "" for none."""
    counts = {mark: sum(each == mark for each in marks.values()) for mark in _MEANINGS}
    lines = (
        f"{mark} marks {counted(count, 'line')} {_MEANINGS[mark]}" for mark, count in counts.items() if count
    )
    return ", ".join(lines)
