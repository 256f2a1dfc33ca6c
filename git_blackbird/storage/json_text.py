"""JSON in the Go program's dialect: strict reading, and its writer's escapes."""

import codecs
import json
import math
import re
from collections import Counter
from typing import Any

MAX_DEPTH = 100

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class JsonFault(ValueError):  # noqa: N818  # a fault of a file, not of the program
    """Text that is not one JSON value; says where, and how to mend it."""

    def __init__(self, what: str, fix: str = "make it valid JSON") -> None:
        super().__init__(what)
        self.fix = fix


def load_json(data: bytes) -> Any:
    """Read one JSON value. A key that stands twice in an object is a fault: saving would lose one.

    Halves of surrogate pairs become U+FFFD, as the Go program reads them. Raises JsonFault.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise JsonFault("begins with a byte order mark", "save it as UTF-8 without one")
    try:
        return _parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise JsonFault(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise JsonFault(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise JsonFault("nested too deeply") from None
    except JsonFault:
        raise
    except ValueError:
        raise JsonFault("a number has too many digits") from None


def load_bounded_json(data: bytes) -> Any:
    """Read one JSON value of a depth that can be written again, whatever it holds.

    Raises JsonFault.
    """
    value = load_json(data)
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return value
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, dict | list)]
        if not level:
            return value
    raise JsonFault("nested too deeply")


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _parse(text: str) -> Any:
    value = _DECODER.decode(text)
    if _ESCAPED_SURROGATE.search(text) is None:
        return value
    whole = _LONE_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
    return json.loads(whole, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        uses = Counter(name for name, _ in pairs)
        twice = next(name for name, count in uses.items() if count > 1)
        raise JsonFault(f"the key {json.dumps(twice)} stands twice in one object", "keep one of the two")
    return made


def _no_constant(name: str) -> None:
    raise JsonFault(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonFault(f"{text} is too large a number")
    return number


# One for all: a record is short, and there are many.
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_finite)


def dump_json(value: Any) -> bytes:
    """Write ``value`` with two spaces of indent, a last newline, and text escaped as Go escapes it."""
    return f"{render_json(value)}\n".encode()


def render_json(value: Any) -> str:
    """Give the same as text, without the last newline."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # The escapes are put over the whole text: outside of strings JSON has none of these characters.
    return _LONE_SURROGATE.sub("\ufffd", text.translate(_ESCAPES))
