"""When a usage limit is over, according to a program's own words."""

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_EPOCH_SECONDS = re.compile(r"\|(\d{10})\b")
_WORDS = re.compile(
    rf"""\b(?:resets|try\ again)(?:\ at|\ on)?\s+
    (?:(?P<weekday>{"|".join(_DAYS)})[a-z]*,?\s+
      |(?P<month>{"|".join(_MONTHS)})[a-z]*\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<year>\d{{4}}))?
       (?:,|\ at)?\s+)?
    (?P<hour>\d{{1,2}})(?=:|\s*[ap]m)(?::(?P<minute>\d{{2}}))?\s*(?P<half>[ap]m)?\b
    (?:\s*\((?P<zone>[^)]{{1,64}})\))?""",
    re.IGNORECASE | re.VERBOSE,
)
# Words name a minute, which has begun when the limit ends and may have passed when they are read.
_MINUTE = timedelta(minutes=1)
_SLACK = timedelta(minutes=10)


def find_reset(text: str, now: float) -> float | None:
    """Return when the limit in ``text`` is over; None where it names no time. All in seconds since 1970.

    Without a time zone, the time is that of this machine.
    """
    epoch = _EPOCH_SECONDS.search(text)
    if epoch is not None:
        return float(epoch[1])
    match = _WORDS.search(text)
    if match is None:
        return None
    try:
        zone = ZoneInfo(match["zone"]) if match["zone"] else None
        return (_next_moment(match, datetime.fromtimestamp(now, zone)) + _MINUTE).timestamp()
    except (KeyError, ValueError, OSError, OverflowError):  # no such zone, or no such time
        return None


def _next_moment(match: re.Match[str], now: datetime) -> datetime:
    """Return the first moment with that name which is not long past."""
    hour = int(match["hour"])
    if half := match["half"]:
        hour = hour % 12 + 12 * (half.lower() == "pm")
    at = now.replace(hour=hour, minute=int(match["minute"] or 0), second=0, microsecond=0)
    period = timedelta(days=1)
    if name := match["weekday"]:
        period = timedelta(days=7)
        at += timedelta(days=(_DAYS.index(name.lower()) - now.weekday()) % 7)
    elif name := match["month"]:
        at = at.replace(int(match["year"] or now.year), _MONTHS.index(name.lower()) + 1, int(match["day"]))
        if match["year"] or at >= now - _SLACK:
            return at
        return at.replace(at.year + 1)
    return at if at >= now - _SLACK else at + period
