"""Lines of a stream to events, one JSON object a line among anything else, or merged with others."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Generic, TypeVar

from pydantic import Field, TypeAdapter

from git_blackbird.model.base.lenient import Fallback, Lenient, Valid, replace_surrogates

_LINE_ENDS = re.compile(rb"\n{2,}")

MAX_LINE_BYTES = 4 * 1024 * 1024

E = TypeVar("E", bound=Lenient)

Line = Annotated[E | tuple[Valid[E], ...], Field(union_mode="left_to_right"), Fallback(())]


class JsonEvents(Generic[E]):
    """Split a stream into lines and parse the events in them: one a line, or an array of events.

    Lines longer than ``MAX_LINE_BYTES`` are skipped and counted in ``too_long``; other lines without an event
    are skipped silently. A line may hold several events, or one that was written into the middle of another.
    """

    def __init__(self, events: TypeAdapter[E | tuple[E, ...]]) -> None:
        # Bypasses the adapter's own method, which doubles the cost of a short line.
        self._validate: Callable[[bytes | str], E | tuple[E, ...]] = events.validator.validate_json
        self._partial = bytearray()
        self._skipping = False
        self._torn = ""
        self.too_long = 0

    def feed(self, data: bytes) -> Iterator[E]:
        """Add the next piece of the stream, and yield the events that it completes."""
        # Of many line ends in a row, which hold no event, one is enough.
        *lines, rest = _LINE_ENDS.sub(b"\n", data).split(b"\n")
        for line in lines:
            if self._partial or self._skipping or len(line) > MAX_LINE_BYTES:
                self._extend(line)
                yield from self.flush()
            else:
                yield from self._events_in(line)
        self._extend(rest)

    def flush(self) -> Sequence[E]:
        line = bytes(self._partial)
        self._partial.clear()
        self._skipping = False
        return self._events_in(line)

    def _extend(self, part: bytes) -> None:
        if self._skipping:
            return
        if len(self._partial) + len(part) > MAX_LINE_BYTES:
            self._skipping = True
            self.too_long += 1
            self._partial.clear()
        else:
            self._partial += part

    def _events_in(self, line: bytes) -> Sequence[E]:
        if not line.lstrip().startswith((b"{", b"[")):
            return self._recovered(line) if self._torn and line.strip() else ()
        try:
            return self._parsed(line)
        except ValueError:
            return self._recovered(line)

    def _parsed(self, text: bytes | str) -> Sequence[E]:
        events = self._validate(text)
        return (events,) if isinstance(events, Lenient) else events

    def _recovered(self, line: bytes) -> Sequence[E]:
        """Return the events in a line that is not JSON, or only with the beginning of an earlier line."""
        texts, rest = split_objects(self._torn + replace_surrogates(line.decode(errors="replace")))
        # An event that was written into the middle of another brought its line end: the rest follows.
        self._torn = rest if texts and len(rest) <= MAX_LINE_BYTES else ""
        events: list[E] = []
        for text in texts:
            with suppress(ValueError):
                events += self._parsed(text)
        return events


_DECODER = json.JSONDecoder()
_MAX_OBJECTS = 20
# An event inside of another one is short. Where it was put into a word or an escape, that is the fault.
_MAX_INNER_CHARACTERS = 64 * 1024
_NEAR = 8
_MAX_ATTEMPTS = 32
_MAX_CANDIDATES = 4


def split_objects(line: str) -> tuple[Sequence[str], str]:
    """Return the JSON texts in a line, an inner one first, and the incomplete rest; takes linear time."""
    texts: list[str] = []
    rest = line
    while rest.strip() and len(texts) < _MAX_OBJECTS:
        fault = _fault_in(rest)
        if fault is None:
            return [*texts, rest], ""
        found = _object_at(rest, len(rest) - len(rest.lstrip()), len(rest))
        if found is None:
            # None at the beginning: the event at the fault without which the rest is JSON, or else the first.
            events = list(_events_at(rest, fault))
            whole = (span for span in events if _fault_in(rest[: span[0]] + rest[span[1] :]) is None)
            found = next(whole, events[0] if events else None)
        if found is None:
            break
        start, end = found
        texts.append(rest[start:end])
        rest = rest[:start] + rest[end:]
    return texts, rest


def _fault_in(text: str) -> int | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return len(text)
    return None


def _events_at(text: str, fault: int) -> Iterator[tuple[int, int]]:
    """Find objects with a type that begin near the fault, or end at it."""
    start, count = fault + _NEAR, 0
    for _ in range(_MAX_ATTEMPTS):
        start = text.rfind("{", max(1, fault - _MAX_INNER_CHARACTERS), start)
        if start < 0 or count == _MAX_CANDIDATES:
            return
        found = _object_at(text, start, start + _MAX_INNER_CHARACTERS, key="type")
        if found and (start >= fault - _NEAR or not text[found[1] : fault].strip()):
            count += 1
            yield found


def _object_at(text: str, start: int, limit: int, key: str | None = None) -> tuple[int, int] | None:
    try:
        value, length = _DECODER.raw_decode(text[start:limit])
    except (ValueError, RecursionError):
        return None
    fits = isinstance(value, dict) and (key is None or key in value)
    return (start, start + length) if fits else None
