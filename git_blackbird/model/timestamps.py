"""RFC 3339 timestamps as text with nanoseconds; text stays text, numbers are for comparing."""

import re
from datetime import UTC, datetime, timedelta, timezone

_NANOS = 1_000_000_000
_RFC3339 = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d+))?(Z|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_timestamp(text: str) -> int:
    """Give nanoseconds since 1970 of an RFC 3339 timestamp.

    Raises ValueError when ``text`` is none.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    day, clock, fraction, _, sign, hours, minutes = match.groups()
    zone = UTC if sign is None else _offset(sign, int(hours), int(minutes))
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=zone)
    whole = moment - _EPOCH
    nanos = int(((fraction or "") + "0" * 9)[:9])
    return (whole.days * 86_400 + whole.seconds) * _NANOS + nanos


def _offset(sign: str, hours: int, minutes: int) -> timezone:
    if hours > 23 or minutes > 59:
        raise ValueError("time zone out of range")
    span = timedelta(hours=hours, minutes=minutes)
    return timezone(-span if sign == "-" else span)


def is_timestamp(text: str) -> bool:
    """Whether ``text`` is an RFC 3339 timestamp."""
    try:
        parse_timestamp(text)
    except ValueError:
        return False
    return True


def format_timestamp(nanoseconds: int) -> str:
    """Write nanoseconds since 1970 as Go does: UTC, trailing zeros of the fraction dropped."""
    seconds, nanos = divmod(nanoseconds, _NANOS)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{text}{fraction}Z"


def seconds_between(earlier: str, later: str) -> float | None:
    """Seconds from one timestamp to another; None when either is not readable."""
    try:
        return (parse_timestamp(later) - parse_timestamp(earlier)) / _NANOS
    except ValueError:
        return None
