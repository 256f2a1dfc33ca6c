"""Find JSON objects in an agent's text: in prose, in code fences, between stray characters."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from git_blackbird.model.base.lenient import replace_surrogates

WINDOW_CHARACTERS = 512 * 1024
# The number of characters that failed attempts may read, so that no text takes long.
_BUDGET = 4 * WINDOW_CHARACTERS
_COST_OF_ATTEMPT = 100
_OPENING = re.compile(r'\{[ \t\r\n]*(?:\}|"(?:[^"\\]|\\.)*+"[ \t\r\n]*:)', re.DOTALL)


class DuplicateKey:
    """The value of a key that an object has more than once."""

    def __repr__(self) -> str:
        """Return a name for comparisons of objects."""
        return "twice"


TWICE: Final = DuplicateKey()


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = TWICE if name in found else value
    return found


# Every number is a float, so that integers of any length are read without an error.
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_int=float, strict=False)


class JsonFinder:
    """Find objects in texts; the texts of one answer share a limit on failed attempts."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def objects(self, text: str) -> Iterator[dict[str, Any]]:
        """Return the outermost objects in order; for a very long text those of its end.

        A duplicate key has the value ``TWICE``. Never raises; invalid JSON is skipped.
        """
        window = replace_surrogates(text[-WINDOW_CHARACTERS:])
        match = _OPENING.search(window)
        while match and self._left > 0:
            value, end = self._decode(window, match.start())
            if value is not None:
                yield value
            match = _OPENING.search(window, end)

    def _decode(self, text: str, start: int) -> tuple[dict[str, Any] | None, int]:
        """Parse the object at ``start``; return it and its end, or None and where to continue."""
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # Creating the error would count the lines before it.
            self._left -= _COST_OF_ATTEMPT + error.pos - start + error.pos // 64
        except (ValueError, RecursionError):
            self._left -= len(text) - start
        return None, start + 1
