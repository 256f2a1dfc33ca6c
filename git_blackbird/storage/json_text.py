"""JSON in the Go program's dialect: strict reading, and its writer's escapes."""

import json
import re
from typing import Any

_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class JsonFault(ValueError):  # noqa: N818  # a fault of a file, not of the program
    """Text that is not one JSON value; says where."""


def load_json(data: bytes) -> Any:
    """Read one JSON value. A key that stands twice in an object is a fault: saving would lose one.

    Raises JsonFault.
    """
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise JsonFault(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise JsonFault(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise JsonFault("nested too deeply") from None
    except JsonFault:
        raise
    except ValueError as error:
        raise JsonFault(str(error)) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise JsonFault(f"the key {json.dumps(twice)} stands twice in one object")
    return made


def _no_constant(name: str) -> None:
    raise JsonFault(f"{name} is not JSON")


def dump_json(value: Any) -> bytes:
    """Write ``value`` with two spaces of indent, a last newline, and text escaped as Go escapes it."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # The escapes are put over the whole text: outside of strings JSON has none of these characters.
    safe = _LONE_SURROGATE.sub("\ufffd", text.translate(_ESCAPES))
    return f"{safe}\n".encode()
