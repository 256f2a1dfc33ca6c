"""Format money, tokens, durations, changes and paths; light, because reading commands import it."""

import json
from dataclasses import dataclass

from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.change import Summary
from git_blackbird.model.entities.run import Usage


def counted(number: int, what: str) -> str:
    """Return ``1 task``, ``2 tasks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def render_totals(summary: Summary) -> str:
    """Count the files and lines of a change."""
    totals = summary.totals
    files = max(totals.files, len(summary.files))
    if not files:
        return "no changes" if summary.minimal is None else "changes unknown"
    return f"{counted(files, 'file')}, +{totals.additions} -{totals.deletions}"


def render_cost(dollars: float) -> str:
    """Format an amount of money; small ones are not rounded to zero."""
    return f"${dollars:.2f}" if dollars >= 0.01 else f"${dollars:.4f}"


def render_duration(seconds: float) -> str:
    """Format a duration in whole seconds, minutes and hours."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    return f"{minutes // 60}h{minutes % 60:02}m"


def render_path(path: str) -> str:
    """Return a path on one line; quoted if it contains what a terminal cannot show."""
    return path if path.isprintable() else json.dumps(path)


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

    @property
    def spent(self) -> UsageCost:
        """The total of all runs."""
        return sum(self._runs.values(), UsageCost())


def render_spent(spent: UsageCost) -> str:
    """Format it briefly, as ``12.3k tokens, $0.04``; "" if nothing is known."""
    tokens = f"{_short(spent.tokens)} tokens" if spent.tokens > 0 else ""
    cost = render_cost(min(spent.cost_usd, _MOST)) if spent.cost_usd > 0 else ""
    return ", ".join(filter(None, (tokens, cost)))


def _short(number: int) -> str:
    bounded = min(number, _MOST)
    for size, letter in _UNITS:
        if bounded >= size:
            # Rounded down: 999,999 must not become 1000k.
            return f"{bounded // size}.{bounded * 10 // size % 10}{letter}"
    return str(bounded)
