"""Paths that are named by ``@`` in a text that is being written (spec 2)."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from git_blackbird.model.text import escaped_text

MENTION = re.compile(r"(?:^|(?<=\s))@(\"[^\"]*|\S*)\Z")
MAX_SHOWN = 200
_ENOUGH = 20
_PLAIN = re.compile(r"[^\s\"\\]+")


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
        self._names = [path.rpartition("/")[2] for path in self._folded]

    def matching(self, wanted: str) -> Iterator[str]:
        """Give at most ``MAX_SHOWN`` paths, written as mentions: those come first that are likeliest meant.

        Names that begin with it, then paths with a part that does, then those holding it; where these are
        few, then those that have its letters in that order.
        """
        folded = wanted.removeprefix('"').casefold()
        found = dict.fromkeys(islice(self._holding(folded), MAX_SHOWN))
        if len(found) < _ENOUGH:
            found |= dict.fromkeys(islice(self._resembling(folded), MAX_SHOWN))
        yield from (mention(self._paths[index]) for index in islice(found, MAX_SHOWN))

    def _holding(self, folded: str) -> Iterator[int]:
        found: set[int] = set()
        below = f"/{folded}"
        for rank in (
            (index for index, name in enumerate(self._names) if name.startswith(folded)),
            (index for index, path in enumerate(self._folded) if path.startswith(folded) or below in path),
            (index for index, path in enumerate(self._folded) if folded in path),
        ):
            for index in rank:
                if index not in found:
                    found.add(index)
                    yield index

    def _resembling(self, folded: str) -> Iterator[int]:
        letters = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in folded))
        return (index for index, path in enumerate(self._folded) if letters.match(path))
