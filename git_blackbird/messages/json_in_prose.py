"""JSON objects that stand somewhere in an agent's text: in prose, in code fences, between stray marks."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

WINDOW_CHARACTERS = 512 * 1024
# Characters that attempts which lead to nothing may read, so that no text takes long.
_BUDGET = 4 * WINDOW_CHARACTERS
_COST_OF_ATTEMPT = 100
_OPENING = re.compile(r'\{[ \t\r\n]*(?:\}|"(?:[^"\\]|\\.)*+"[ \t\r\n]*:)', re.DOTALL)


class Twice:
    """Stands for the value of a key that an object has more than once."""

    def __repr__(self) -> str:
        """Say what it is where objects are compared."""
        return "twice"


TWICE: Final = Twice()


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        found[name] = TWICE if name in found else value
    return found


# Every number is a float: whole numbers of any length are then read without an error.
_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_int=float, strict=False)


class Finder:
    """Finds objects in texts; several texts of one answer share what may be spent on them."""

    def __init__(self) -> None:
        self._left = _BUDGET

    def objects(self, text: str) -> Iterator[dict[str, Any]]:
        """Give the outermost objects, in their order; of a very long text its end.

        A key that stands twice has the value ``TWICE``. Never raises; what is no JSON is passed over.
        """
        window = text[-WINDOW_CHARACTERS:]
        match = _OPENING.search(window)
        while match and self._left > 0:
            value, end = self._decode(window, match.start())
            if value is not None:
                yield value
            match = _OPENING.search(window, end)

    def _decode(self, text: str, start: int) -> tuple[dict[str, Any] | None, int]:
        """Read the object at ``start``; give it and its end, or None and where to look next."""
        try:
            return _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            # An error counts the lines before it.
            self._left -= _COST_OF_ATTEMPT + error.pos - start + error.pos // 64
        except (ValueError, RecursionError):
            self._left -= len(text) - start
        return None, start + 1
