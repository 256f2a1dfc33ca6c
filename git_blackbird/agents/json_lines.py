"""JSON objects, one a line, out of a stream that may hold anything else as well."""

import json
from collections.abc import Iterator

from git_blackbird.agents.protocol import JsonObject

MAX_LINE_BYTES = 4 * 1024 * 1024


class JsonLines:
    """Splits a stream into lines and reads those that hold a JSON object.

    Lines longer than ``MAX_LINE_BYTES`` are passed over and counted in ``too_long``; other lines that
    are no object are passed over in silence.
    """

    def __init__(self) -> None:
        self._begun = bytearray()
        self._skipping = False
        self.too_long = 0

    def feed(self, data: bytes) -> Iterator[JsonObject]:
        """Take the next piece of the stream, and give the objects that are whole with it."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._extend(line)
            yield from self._take()
        self._extend(rest)

    def flush(self) -> Iterator[JsonObject]:
        """Give the last object when no line end follows it."""
        yield from self._take()

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._begun) + len(part) > MAX_LINE_BYTES:
            self._skipping = True
            self.too_long += 1
            self._begun.clear()
        else:
            self._begun += part

    def _take(self) -> Iterator[JsonObject]:
        line = bytes(self._begun)
        self._begun.clear()
        skipped, self._skipping = self._skipping, False
        if skipped or not line.lstrip().startswith(b"{"):
            return
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(value, dict):
            yield value
