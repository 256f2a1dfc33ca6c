"""Separate the JSON objects that a program wrote on one line, one after or in the middle of another."""

import json
from collections.abc import Iterator, Sequence

_DECODER = json.JSONDecoder()
_MAX_OBJECTS = 20
# An event inside of another one is short. Where it was put into a word or an escape, that is the fault.
_MAX_INNER_CHARACTERS = 64 * 1024
_NEAR = 8
_MAX_ATTEMPTS = 32
_MAX_CANDIDATES = 4


def split_objects(line: str) -> tuple[Sequence[str], str]:
    """Return the JSON texts in a line, an inner one before the one around it, and the incomplete rest.

    Never raises; takes time proportional to the line.
    """
    texts: list[str] = []
    rest = line
    while rest.strip() and len(texts) < _MAX_OBJECTS:
        fault = _fault_in(rest)
        if fault is None:
            return [*texts, rest], ""
        found = _object_to_take_out(rest, fault)
        if found is None:
            break
        start, end = found
        texts.append(rest[start:end])
        rest = rest[:start] + rest[end:]
    return texts, rest


def _fault_in(text: str) -> int | None:
    """Return where a text stops being JSON; None if it is JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except (ValueError, RecursionError):
        return len(text)
    return None


def _object_to_take_out(text: str, fault: int) -> tuple[int, int] | None:
    """Find the object at the beginning, or else the event at the fault without which the rest is JSON."""
    first = _object_at(text, len(text) - len(text.lstrip()), len(text))
    if first is not None:
        return first
    found = list(_events_at(text, fault))
    whole = (span for span in found if _fault_in(text[: span[0]] + text[span[1] :]) is None)
    return next(whole, found[0] if found else None)


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
    """Return the span of the object at ``start``, which has ``key`` if one is given."""
    try:
        value, length = _DECODER.raw_decode(text[start:limit])
    except (ValueError, RecursionError):
        return None
    fits = isinstance(value, dict) and (key is None or key in value)
    return (start, start + length) if fits else None
