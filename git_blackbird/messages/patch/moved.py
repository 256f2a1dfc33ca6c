"""Blocks of lines that a patch removes in one place and adds in another."""

from collections.abc import Iterator

from git_blackbird.messages.patch.parse import ADDED, REMOVED, Patch

_FEWEST_LINES, _FEWEST_LETTERS = 3, 20
# A line that is removed in many places, such as a bracket, begins no block.
_MOST_PLACES = 8
_MOST_CHANGED = 100_000


def moved_lines(patch: Patch) -> frozenset[int]:
    """Return the lines of moved blocks, on both sides; none in a very long patch. Takes a while."""
    if sum(file.additions + file.deletions for file in patch.files) > _MOST_CHANGED:
        return frozenset()
    return frozenset(_moved(patch, _places(patch)))


def _lines(patch: Patch, mark: str) -> Iterator[int]:
    for file in patch.files:
        yield from (line for line in range(file.body, file.end) if patch.marks[line] == mark)


def _places(patch: Patch) -> dict[str, list[int]]:
    """Return where each text is removed."""
    places: dict[str, list[int]] = {}
    for line in _lines(patch, REMOVED):
        places.setdefault(patch.lines[line][1:], []).append(line)
    return places


def _moved(patch: Patch, places: dict[str, list[int]]) -> Iterator[int]:
    end = 0
    for line in _lines(patch, ADDED):
        removed = places.get(patch.lines[line][1:], ())
        if line < end or not 0 < len(removed) <= _MOST_PLACES:
            continue
        length, start = max((_length(patch, start, line), start) for start in removed)
        letters = sum(map(str.isalnum, "".join(patch.lines[line : line + length])))
        if length >= _FEWEST_LINES and letters >= _FEWEST_LETTERS:
            end = line + length
            yield from (*range(start, start + length), *range(line, end))


def _length(patch: Patch, removed: int, added: int) -> int:
    """Count the lines from two places on that are the same."""
    marks, lines, length = patch.marks, patch.lines, 0
    while (
        marks.startswith(REMOVED, removed + length)
        and marks.startswith(ADDED, added + length)
        and lines[removed + length][1:] == lines[added + length][1:]
    ):
        length += 1
    return length
