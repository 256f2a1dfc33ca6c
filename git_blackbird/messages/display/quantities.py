"""Numbers as people read them: counts, sizes, durations, moments, tokens and costs."""

from dataclasses import dataclass
from datetime import datetime

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.base.timestamps import parse_timestamp
from git_blackbird.model.run.parts import Usage


def counted(number: int, what: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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


@dataclass(frozen=True)
class UsageCost:
    """Tokens read and written in total, and US dollars; 0 if unknown."""

    tokens: int = 0
    cost_usd: float = 0.0

    def updated(self, usage: Usage | None, cost_usd: float | None) -> "UsageCost":
        """Return a copy with these newer figures, each of which may be missing."""
        tokens = self.tokens if usage is None else usage.input_tokens + usage.output_tokens
        return UsageCost(tokens, self.cost_usd if cost_usd is None else cost_usd)

    def __add__(self, other: "UsageCost") -> "UsageCost":
        return UsageCost(self.tokens + other.tokens, self.cost_usd + other.cost_usd)

    def __bool__(self) -> bool:
        return self.tokens > 0 or self.cost_usd > 0


class UsageMeter:
    """Add up the usage of a command: each run once, with its newest figures."""

    def __init__(self) -> None:
        self._runs: dict[RunId, UsageCost] = {}

    def tell(self, run_id: RunId, usage: Usage | None, cost_usd: float | None) -> None:
        """Set the figures of a run, for all of it up to now."""
        self._runs[run_id] = self._runs.get(run_id, UsageCost()).updated(usage, cost_usd)

    def of(self, run_id: RunId) -> UsageCost:
        """Return the figures of one run."""
        return self._runs.get(run_id, UsageCost())

    @property
    def spent(self) -> UsageCost:
        """The total of all runs."""
        return sum(self._runs.values(), UsageCost())


def render_spent(spent: UsageCost) -> str:
    """Format it briefly, as ``12.3k tokens, $0.04``; "" if nothing is known."""
    tokens = f"{short_number(spent.tokens)} tokens" if spent.tokens > 0 else ""
    cost = render_cost(min(spent.cost_usd, _MOST)) if spent.cost_usd > 0 else ""
    return ", ".join(filter(None, (tokens, cost)))


def short_number(number: int) -> str:
    """Format a number briefly, as ``12.3k``; one that nothing can have is bounded."""
    bounded = min(number, _MOST)
    for size, letter in _UNITS:
        if bounded >= size:
            # Rounded down: 999,999 must not become 1000k.
            return f"{bounded // size}.{bounded * 10 // size % 10}{letter}"
    return str(bounded)


_NANOSECONDS = 1_000_000_000


def format_moment(timestamp: str) -> str:
    """Format a timestamp as local time to the minute; unreadable ones unchanged."""
    try:
        moment = parse_timestamp(timestamp) / _NANOSECONDS
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
