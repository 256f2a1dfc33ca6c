"""What a run has spent so far, and what a call has: tokens and dollars, as they become known."""

from dataclasses import dataclass

from git_blackbird.messages.amounts import render_cost
from git_blackbird.model.conversation import Usage
from git_blackbird.model.ids import RunId

_UNITS = ((10**9, "G"), (10**6, "M"), (10**3, "k"))
# What an agent counts may be any number; past all measure it is not worked with.
_MOST = 10**12


@dataclass(frozen=True)
class Spent:
    """Tokens read and written, together, and US dollars; 0 where nobody told."""

    tokens: int = 0
    cost_usd: float = 0.0

    def told(self, usage: Usage | None, cost_usd: float | None) -> "Spent":
        """Give what is known with these newer figures, of which either may be missing."""
        tokens = self.tokens if usage is None else usage.input_tokens + usage.output_tokens
        return Spent(tokens, self.cost_usd if cost_usd is None else cost_usd)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.tokens + other.tokens, self.cost_usd + other.cost_usd)

    def __bool__(self) -> bool:
        return self.tokens > 0 or self.cost_usd > 0


class Meter:
    """Counts what a call has spent: each run once, by the newest figures of it."""

    def __init__(self) -> None:
        self._runs: dict[RunId, Spent] = {}

    def tell(self, run_id: RunId, usage: Usage | None, cost_usd: float | None) -> None:
        """Take figures of a run; they are of all of it, up to now or to its end."""
        self._runs[run_id] = self._runs.get(run_id, Spent()).told(usage, cost_usd)

    @property
    def spent(self) -> Spent:
        """All runs together."""
        return sum(self._runs.values(), Spent())


def render_spent(spent: Spent) -> str:
    """Say it in a few characters, as ``12.3k tokens, $0.04``; "" where nothing is known."""
    tokens = f"{_short(spent.tokens)} tokens" if spent.tokens > 0 else ""
    cost = render_cost(min(spent.cost_usd, _MOST)) if spent.cost_usd > 0 else ""
    return ", ".join(filter(None, (tokens, cost)))


def _short(number: int) -> str:
    bounded = min(number, _MOST)
    for size, letter in _UNITS:
        if bounded >= size:
            # Rounded down: 999,999 is no million yet.
            return f"{bounded // size}.{bounded * 10 // size % 10}{letter}"
    return str(bounded)
