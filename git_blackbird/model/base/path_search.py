"""Search paths for ``@`` mentions in a text being written."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

from git_blackbird.model.base.sanitize import escaped_text

MENTION = re.compile(r"(?:^|(?<=\s))@(\"[^\"]*|\S*)\Z")
_MENTIONED = re.compile(r"(?<!\S)@(\"(?:[^\"\\]|\\.)*\"|[^\s\"]\S*)")
# A line number, and what ends a sentence or a bracket.
_AFTER = re.compile(r"(?::\d[\d:-]*)?[.,:;!?)\]}>'\"`]*\Z")
MAX_SHOWN = 200
_ENOUGH = 20
_PLAIN = re.compile(r"[^\s\"\\]+")
# Begins every text: it cannot occur in a file name, and makes the first part of a path match like others.
_START = "\0/"


def mention(path: str) -> str:
    """Format a path so that readers of the text recognize it as that file: quoted as git does if necessary.

    Bytes that are not UTF-8 are surrogates in it, as in file names.
    """
    escaped = escaped_text(path)
    return path if _PLAIN.fullmatch(path) and escaped == path else f'"{escaped}"'


def mentioned(text: str) -> Iterator[str]:
    """Yield what a text names with ``@``, without what follows a path; lines of a quotation name nothing."""
    for line in text.splitlines():
        for match in () if line.startswith(">") else _MENTIONED.finditer(line):
            name = match[1] if match[1].startswith('"') else _AFTER.sub("", match[1])
            if name:
                yield name


class PathIndex:
    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(paths)
        self._folded = [path.casefold() for path in self._paths]
        self._joined = SubstringIndex(self._folded)
        self._names = SubstringIndex([path.rpartition("/")[2] for path in self._folded])

    def matching(self, wanted: str) -> Iterator[list[str]]:
        """Yield matching paths, as mentions, in one or two batches of at most ``MAX_SHOWN`` in total.

        Substring matches come first: names that begin with the text, then paths with a part that does, then
        others. If there are few of these, subsequence matches follow, which take longer to find.
        """
        folded = wanted.removeprefix('"').casefold()
        matches = list(islice(dict.fromkeys(self._holding(folded)), MAX_SHOWN))
        if matches:
            yield self._mentions(matches)
        if len(matches) < _ENOUGH:
            letters = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in folded))
            alike = (index for index, path in enumerate(self._folded) if letters.match(path))
            others = (index for index in alike if index not in matches)
            yield self._mentions(islice(others, MAX_SHOWN - len(matches)))

    def _mentions(self, indices: Iterable[int]) -> list[str]:
        return [mention(self._paths[index]) for index in indices]

    def _holding(self, folded: str) -> Iterator[int]:
        for joined, part in (
            (self._names, f"{_START}{folded}"),
            (self._joined, f"/{folded}"),
            (self._joined, folded),
        ):
            yield from islice(joined.holding(part), MAX_SHOWN)


class SubstringIndex:
    """Many texts joined to one, which is much faster to search than one text after another."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = "".join(f"{_START}{text}" for text in texts)
        self._starts = list(accumulate((len(_START) + len(text) for text in texts), initial=0))

    def holding(self, part: str) -> Iterator[int]:
        """Return the indices of the texts that contain a part, in order."""
        place = self._text.find(part)
        while 0 <= place < len(self._text):
            index = bisect_right(self._starts, place) - 1
            yield index
            place = self._text.find(part, self._starts[index + 1])
