"""Values out of JSON that may be of any type: what is not of the type asked for counts as absent."""

import math
from collections.abc import Mapping
from typing import Any

from git_blackbird.agents.protocol import JsonObject

# More than any counter of a real program; what is beyond is no count.
_MAX_COUNT = 10**15


def text_of(value: Any) -> str:
    """Give a text, else ""."""
    return value if isinstance(value, str) else ""


def count_of(value: Any) -> int:
    """Give a whole number from 0 on, else 0."""
    return value if isinstance(value, int) and value is not True and 0 <= value <= _MAX_COUNT else 0


def amount_of(value: Any) -> float | None:
    """Give a finite number from 0 on, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def object_of(value: Any) -> JsonObject:
    """Give an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[JsonObject]:
    """Give the objects in a list, else none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def finite(counters: Mapping[str, Any]) -> dict[str, float]:
    """Give the counters that are finite numbers from 0 on."""
    return {name: number for name, value in counters.items() if (number := amount_of(value)) is not None}
