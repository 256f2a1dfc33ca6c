"""The lines of a patch that no test ran."""

from typing import TYPE_CHECKING

from git_blackbird.messages.display.quantities import counted
from git_blackbird.messages.patch.parse import ADDED, Patch
from git_blackbird.model.base.ranges import parse_ranges

if TYPE_CHECKING:
    from git_blackbird.model.run.evidence import ChangeCoverage

MISSED = "#"  # as gcov prints them


def missed_lines(patch: Patch, coverage: "ChangeCoverage | None") -> frozenset[int]:
    """Return added lines that no test ran; those of a file that has another content by now are not known."""
    if coverage is None:
        return frozenset()
    lines = (patch.line_of(file, number) for file in patch.files for number in _numbers(coverage, file.blob))
    return frozenset(line for line in lines if line is not None and patch.marks[line] == ADDED)


def _numbers(coverage: "ChangeCoverage", content: str) -> frozenset[int]:
    """Return the numbers of missed lines in a content, by its id, which may be abbreviated."""
    found = (file.lines for file in coverage.files if content and file.content.startswith(content))
    return frozenset[int]().union(*map(parse_ranges, found))


def missed_words(missed: frozenset[int]) -> str:
    """Return what their mark means; "" for none."""
    return f"{MISSED} marks {counted(len(missed), 'line')} that no test ran" if missed else ""
