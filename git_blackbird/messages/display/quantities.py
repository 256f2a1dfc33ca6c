"""Numbers as people read them: counts, sizes, durations, moments, tokens and costs."""

from collections.abc import Sequence
from datetime import datetime

from git_blackbird.model.base.timestamps import SECOND, parse_timestamp
from git_blackbird.model.rules.spending import Spent


def counted(number: int, what: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def some_of(names: Sequence[str], most: int) -> str:
    """Return ``a, b and 3 more``: the first names, and how many there are beside them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def render_cost(dollars: float) -> str:
    """Format an amount of money; small ones are not rounded to zero."""
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.4f}"


_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def render_bytes(size: float) -> str:
    """Format a number of bytes with about two digits."""
    unit = 0
    while size >= 1000 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {_SIZES[unit]}" if unit and size < 10 else f"{size:.0f} {_SIZES[unit]}"


def render_duration(seconds: float) -> str:
    """Format a duration in whole seconds, minutes and hours."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
# Agents may report any number; larger ones are ignored in calculations.
_MOST = 10**12


def render_spent(spent: Spent) -> str:
    """Format tokens and cost briefly, as ``12.3k tokens, $0.04``; "" if nothing is known."""
    tokens = f"{short_number(spent.tokens)} tokens" if spent.tokens > 0 else ""
    dollars = min(spent.cost_usd or 0.0, _MOST)
    cost = render_cost(dollars) if dollars > 0 else ""
    return ", ".join(filter(None, (tokens, cost)))


def short_number(number: int) -> str:
    """Format a number briefly, as ``12.3k``; one that nothing can have is bounded."""
    bounded = min(number, _MOST)
    for size, letter in _UNITS:
        if bounded >= size:
            # Rounded down: 999,999 must not become 1000k.
            return f"{bounded // size}.{bounded * 10 // size % 10}{letter}"
    return str(bounded)


def format_moment(timestamp: str) -> str:
    """Format a timestamp as local time to the minute; unreadable ones unchanged."""
    try:
        moment = parse_timestamp(timestamp) / SECOND
        return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OSError, OverflowError):
        return timestamp[:16]


def format_seconds(seconds: float | None) -> str:
    """Format a duration; ``-`` if unknown."""
    return "-" if seconds is None or seconds < 0 else render_duration(seconds)


def format_cost(dollars: float | None) -> str:
    """Format dollars; ``-`` if unknown."""
    if dollars is None:
        return "-"
    return render_cost(dollars) if dollars else "$0"
