"""What a line of a patch looks like on a terminal, and what changed within it."""

import re
from difflib import SequenceMatcher
from typing import NamedTuple

from git_blackbird.clean import visible
from git_blackbird.messages.patch.parse import ADDED, NO_NEWLINE, REMOVED, Patch

LONGEST = 4_000
"""The characters of a line that are shown; how many there are besides is said."""
_TAB = 8
_LONGEST_COMPARED = 1_000
_MOST_WORDS = 120
_MOST_LINES = 100
# A pair of lines that has less in common was not edited, but replaced.
_LEAST_COMMON = 0.35
_EMOJI = "\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff"
# Terminals disagree on the width of joined emoji, so that each is shown for itself.
_EMOJI_JOINERS = re.compile(f"(?<=[{_EMOJI}0-9#*])\ufe0f|(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])")
_WORDS = re.compile(r"\w+|\s+|.", re.DOTALL)


class Span(NamedTuple):
    """A part of a text."""

    start: int
    end: int


Spans = tuple[Span, ...]


def display_text(text: str) -> str:
    """Return a text as it is shown: tabs as blanks, control characters escaped, a very long one cut."""
    shown = text[:LONGEST]
    if not shown.isascii():
        shown = _EMOJI_JOINERS.sub("", shown)
    more = f"... ({len(text) - LONGEST} more characters)" if len(text) > LONGEST else ""
    return visible(shown.expandtabs(_TAB)) + more


def changed_spans(patch: Patch, line: int) -> Spans:
    """Return the parts of a line's displayed text that differ from the line it replaces or is replaced by."""
    other = _counterpart(patch, line)
    if other is None:
        return ()
    texts = patch.text_of(line), patch.text_of(other)
    if max(map(len, texts)) > _LONGEST_COMPARED:
        return ()
    return _differing(*map(display_text, texts))


def _counterpart(patch: Patch, line: int) -> int | None:
    """Return the line in the same place of the group on the other side; large groups have none."""
    mark, marks = patch.marks[line], patch.marks
    if mark not in {ADDED, REMOVED}:
        return None
    near = max(0, line - _MOST_LINES), line + _MOST_LINES
    start = line - _run(marks[near[0] : line][::-1], mark)
    end = line + _run(marks[line : near[1]], mark)
    if start == near[0] or end == near[1]:
        return None
    if mark == REMOVED:
        other = end + (marks[end : end + 1] == NO_NEWLINE) + line - start
    else:
        last = start - (marks[start - 1] == NO_NEWLINE)
        removed = _run(marks[max(0, last - _MOST_LINES) : last][::-1], REMOVED)
        other = last - removed + line - start
        if line - start >= removed:
            return None
    opposite = ADDED if mark == REMOVED else REMOVED
    group = marks[end : other + 1].lstrip(NO_NEWLINE) if mark == REMOVED else opposite
    is_there = other < len(marks) and marks[other] == opposite and set(group) == {opposite}
    return other if is_there else None


def _run(marks: str, mark: str) -> int:
    """Count how many characters at the beginning are ``mark``."""
    return len(marks) - len(marks.lstrip(mark))


def _differing(text: str, other: str) -> Spans:
    words, others = _WORDS.findall(text), _WORDS.findall(other)
    if max(len(words), len(others)) > _MOST_WORDS:
        return _middle(text, other)
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    common = sum(len(word) for block in blocks for word in words[block.a : block.a + block.size])
    if common < _LEAST_COMMON * max(len(text), len(other)):
        return ()
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    spans = [
        Span(starts[a], starts[b])
        for tag, a, b, _, _ in matcher.get_opcodes()
        if tag in {"replace", "delete"}
    ]
    return tuple(span for span in spans if span.start < span.end)


def _middle(text: str, other: str) -> Spans:
    """Return what is left of a text without the beginning and the end that both have."""
    shorter = min(len(text), len(other))
    start = next((index for index in range(shorter) if text[index] != other[index]), shorter)
    rest = shorter - start
    end = next((index for index in range(rest) if text[-1 - index] != other[-1 - index]), rest)
    if start + end < _LEAST_COMMON * max(len(text), len(other)) or start + end >= len(text):
        return ()
    return (Span(start, len(text) - end),)
