"""Paths that are named by ``@`` in a text that is being written (spec 2)."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice

from git_blackbird.model.text import escaped_text

MENTION = re.compile(r"(?:^|(?<=\s))@(\"[^\"]*|\S*)\Z")
MAX_SHOWN = 200
_ENOUGH = 20
_PLAIN = re.compile(r"[^\s\"\\]+")
# Begins every text: no file name holds it, and the first part of a path is found as its others are.
_START = "\0/"


def mention(path: str) -> str:
    """Write a path so that whoever reads the text takes it for that file: quoted as git does where need be.

    Bytes that are not UTF-8 are surrogates in it, as file names have them.
    """
    escaped = escaped_text(path)
    return path if _PLAIN.fullmatch(path) and escaped == path else f'"{escaped}"'


class KnownPaths:
    """All paths that can be named, made ready to be searched at every key."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(paths)
        self._folded = [path.casefold() for path in self._paths]
        self._joined = _Joined(self._folded)
        self._names = _Joined([path.rpartition("/")[2] for path in self._folded])

    def matching(self, wanted: str) -> Iterator[list[str]]:
        """Give paths, written as mentions, in one or two lots, together at most ``MAX_SHOWN``.

        First those that hold it: names that begin with it, then paths with a part that does, then the others.
        Where these are few, then those that have its letters in that order, which takes longer to say.
        """
        folded = wanted.removeprefix('"').casefold()
        found = list(islice(dict.fromkeys(self._holding(folded)), MAX_SHOWN))
        if found:
            yield self._written(found)
        if len(found) < _ENOUGH:
            others = (index for index in self._resembling(folded) if index not in found)
            yield self._written(islice(others, MAX_SHOWN - len(found)))

    def _written(self, found: Iterable[int]) -> list[str]:
        return [mention(self._paths[index]) for index in found]

    def _holding(self, folded: str) -> Iterator[int]:
        for joined, part in (
            (self._names, f"{_START}{folded}"),
            (self._joined, f"/{folded}"),
            (self._joined, folded),
        ):
            yield from islice(joined.holding(part), MAX_SHOWN)

    def _resembling(self, folded: str) -> Iterator[int]:
        letters = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in folded))
        return (index for index, path in enumerate(self._folded) if letters.match(path))


class _Joined:
    """Many texts in one, each begun by ``_START``: looking through them one by one would take too long."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._text = "".join(f"{_START}{text}" for text in texts)
        self._starts = list(accumulate((len(_START) + len(text) for text in texts), initial=0))

    def holding(self, part: str) -> Iterator[int]:
        """Give the indices of the texts that hold a part, in their order."""
        place = self._text.find(part)
        while 0 <= place < len(self._text):
            index = bisect_right(self._starts, place) - 1
            yield index
            place = self._text.find(part, self._starts[index + 1])
