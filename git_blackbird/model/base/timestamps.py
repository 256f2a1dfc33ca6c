"""RFC 3339 timestamps with nanoseconds: stored as text, compared as numbers."""

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

SECOND = 1_000_000_000
"""In nanoseconds."""
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):\d{2}:\d{2})(?:\.(\d+))?(?:Z|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  # the zone is handled separately: every text has one


# The tasks of a generated plan share their time, and records are sorted repeatedly.
@lru_cache(maxsize=4096)
def parse_timestamp(text: str) -> int:
    """Return the nanoseconds since 1970 of an RFC 3339 timestamp. Raises ValueError."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    clock, fraction, sign, hours, minutes = match.groups()
    local = datetime.fromisoformat(clock) - _EPOCH
    seconds = local.days * 86_400 + local.seconds
    if sign is not None:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError("time zone out of range")
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds -= -offset if sign == "-" else offset
    return seconds * SECOND + (int(fraction[:9].ljust(9, "0")) if fraction else 0)


def format_timestamp(nanoseconds: int) -> str:
    """Format nanoseconds since 1970 as Go does: UTC, without trailing zeros in the fraction."""
    seconds, nanos = divmod(nanoseconds, SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{text}{fraction}Z"


class Moment(NamedTuple):
    """A time that can be compared, and its text as it was read."""

    nanoseconds: int
    text: str


def moment_of(text: str | None) -> Moment | None:
    """Return the moment that a timestamp names; None without one, or if it is invalid."""
    if text is None:
        return None
    try:
        return Moment(parse_timestamp(text), text)
    except ValueError:
        return None


def seconds_between(earlier: str, later: str) -> float | None:
    """Return the seconds between two timestamps; None if either is invalid."""
    try:
        return (parse_timestamp(later) - parse_timestamp(earlier)) / SECOND
    except ValueError:
        return None
