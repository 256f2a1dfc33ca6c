"""Extract from the beginning of a README what the project is, without instructions for its users."""

import re

MAX_BYTES = 4096
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
# Badges, pictures and HTML around a title do not describe the project.
_DECORATION = re.compile(r"\s*(?:$|!?\[!?|<)")


def first_section(text: str) -> str:
    """Return a Markdown text up to the heading after its first section with content.

    At most ``MAX_BYTES``, also of a text without headings, cut between paragraphs if possible.
    """
    lines = text.splitlines()
    end = next((place for place in _headings(lines) if _says_something(lines[:place])), len(lines))
    return _bounded("\n".join(lines[:end]).strip())


def _headings(lines: list[str]) -> list[int]:
    """Return the lines at which headings begin, except in code blocks."""
    found: list[int] = []
    fence = ""
    for place, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _HEADING.match(line):
            found.append(place)
        elif place and _UNDERLINE.match(line) and lines[place - 1].strip() and place - 1 not in found:
            found.append(place - 1)
    return found


def _says_something(lines: list[str]) -> bool:
    """Whether there is a line that is neither heading nor decoration."""
    headings = set(_headings([*lines, ""]))
    return any(
        not _DECORATION.match(line) and not _UNDERLINE.match(line)
        for place, line in enumerate(lines)
        if place not in headings
    )


def _bounded(text: str) -> str:
    data = text.encode()
    if len(data) <= MAX_BYTES:
        return text
    cut = data[:MAX_BYTES].decode(errors="ignore")
    paragraphs = cut.rpartition("\n\n")[0]
    return (paragraphs or cut).rstrip()
