"""Count and format the tokens and dollars of a run or of a command."""

from dataclasses import dataclass

from git_blackbird.messages.display.format import render_cost
from git_blackbird.model.base.ids import RunId
from git_blackbird.model.entities.agent_io import Usage

_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
# Agents may report any number; larger ones are ignored in calculations.
_MOST = 10**12


@dataclass(frozen=True)
class UsageCost:
    """Tokens read and written in total, and US dollars; 0 if unknown."""

    tokens: int = 0
    cost_usd: float = 0.0

    def formatted(self, usage: Usage | None, cost_usd: float | None) -> "UsageCost":
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
        self._runs[run_id] = self._runs.get(run_id, UsageCost()).formatted(usage, cost_usd)

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
