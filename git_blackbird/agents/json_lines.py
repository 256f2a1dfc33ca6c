"""JSON objects, one a line, out of a stream that may hold anything else as well."""

import json
from collections.abc import Iterator, Sequence

from git_blackbird.agents.protocol import JsonObject

MAX_LINE_BYTES = 4 * 1024 * 1024
_DECODER = json.JSONDecoder()


class JsonLines:
    """Splits a stream into lines and reads those that hold a JSON object, or an array of objects.

    Lines longer than ``MAX_LINE_BYTES`` are passed over and counted in ``too_long``; other lines that
    hold no object are passed over in silence.
    """

    def __init__(self) -> None:
        self._begun = bytearray()
        self._skipping = False
        self.too_long = 0

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Take the next piece of the stream, and give the objects that are whole with it."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if self._begun or self._skipping or len(line) > MAX_LINE_BYTES:
                self._extend(line)
                yield from self.flush()
            else:
                yield from _objects_in(line)
        self._extend(rest)

    def flush(self) -> Sequence[JsonObject]:
        """Give what the last line holds when no line end follows it."""
        line = bytes(self._begun)
        self._begun.clear()
        self._skipping = False
        return _objects_in(line)

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._begun) + len(part) > MAX_LINE_BYTES:
            self._skipping = True
            self.too_long += 1
            self._begun.clear()
        else:
            self._begun += part


def _objects_in(line: bytes) -> Sequence[JsonObject]:
    if not line.lstrip().startswith((b"{", b"[")):
        return ()
    try:
        # What is no UTF-8 is no JSON: there is no other encoding to look for.
        value = _DECODER.decode(line.decode())
    except (ValueError, RecursionError):
        return ()
    if isinstance(value, dict):
        return (value,)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else ()
