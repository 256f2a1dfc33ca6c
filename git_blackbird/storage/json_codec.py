"""JSON in the Go program's dialect: strict reading, and escapes as Go writes them."""

import codecs
import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_json

from git_blackbird.model.base.record import Record, first_error

P = TypeVar("P", bound=Record)

MAX_DEPTH = 100

_ESCAPED = "<>&\u2028\u2029"
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = "[\ud800-\udfff]"


class JsonError(ValueError):  # a fault of a file, not of the program
    """Text that is not one JSON value; says where, and how to fix it."""

    def __init__(self, what: str, fix: str = "make it valid JSON") -> None:
        super().__init__(what)
        self.fix = fix


def load_json(data: bytes) -> Any:
    """Parse one JSON value. A duplicate key is an error, because saving would lose a value.

    Lone surrogates become U+FFFD, as in the Go program. Raises JsonError.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise JsonError("begins with a byte order mark", "save it as UTF-8 without one")
    try:
        text = data.decode("utf-8")
        value = _DECODER.decode(text)
        return value if _SURROGATE.search(text) is None else _whole(value)
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        # Some of these messages end in "at", for the place that follows.
        what = error.msg.removesuffix(" at")
        raise JsonError(f"{what} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise JsonError("nested too deeply") from None
    except JsonError:
        raise
    except ValueError:
        raise JsonError("a number has too many digits") from None


def load_bounded_json(data: bytes) -> Any:
    """Parse one JSON value, limited to a depth that can be written again. Raises JsonError."""
    value = load_json(data)
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return value
    level = [value]
    for _ in range(MAX_DEPTH):
        groups = (outer.values() if isinstance(outer, dict) else outer for outer in level)
        level = [inner for group in groups for inner in group if isinstance(inner, dict | list)]
        if not level:
            return value
    raise JsonError("nested too deeply")


def load_part(kind: type[P], data: bytes) -> P:
    """Parse some fields of a bounded JSON value.

    Raises JsonError, and ValueError with place and reason if the value is not a ``kind``.
    """
    value = load_bounded_json(data)
    try:
        try:
            return kind.from_json(data)
        except ValidationError:
            # pydantic rejects lone surrogates, so they are replaced in the value.
            return kind.from_value(value)
    except ValidationError as error:
        raise ValueError(first_error(error)) from None


def load_note(kind: type[P], path: Path) -> P | None:
    """Return the value of a file of our own; None if it is missing or cannot be read."""
    try:
        return load_part(kind, path.read_bytes())
    except (OSError, ValueError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        uses = Counter(name for name, _ in pairs)
        twice = next(name for name, count in uses.items() if count > 1)
        raise JsonError(f"the key {json.dumps(twice)} appears twice in one object", "keep one of the two")
    return made


def _no_constant(name: str) -> None:
    raise JsonError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError(f"{text} is too large a number")
    return number


# Shared, because there are many short records.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)


def dump_json(value: Any) -> bytes:
    """Serialize ``value`` with an indent of two spaces, a final newline, and Go's escapes."""
    try:
        text = to_json(value, indent=2)
    except PydanticSerializationError:
        # Lone surrogates cannot be encoded as UTF-8.
        text = to_json(_whole(value), indent=2)
    return f"{escaped_as_go(text.decode())}\n".encode()


def _whole(value: Any) -> Any:
    """Return a JSON value with U+FFFD in place of each lone surrogate."""
    whole = re.sub(_LONE_SURROGATE, "\ufffd", json.dumps(value, ensure_ascii=False))
    return json.loads(whole, object_pairs_hook=_object)


def escaped_as_go(text: str) -> str:
    """Apply Go's escapes to a whole JSON text: these characters occur in strings only."""
    for char in _ESCAPED:
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text
