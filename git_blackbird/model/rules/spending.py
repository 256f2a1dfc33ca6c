"""What runs of agents took, and budgets."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import reduce
from math import floor, inf, log10
from operator import add
from typing import Annotated, NamedTuple, Self

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.base.shown import Shown
from git_blackbird.model.base.timestamps import seconds_between
from git_blackbird.model.config.config import Amounts, BudgetConfig
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run
from git_blackbird.model.run.states import RunStatus, TerminalReason

_NOT_BEGUN = {TerminalReason.NOT_STARTED, TerminalReason.AGENT_UNAVAILABLE, TerminalReason.WITHOUT_WORK}


_Unpriced = Annotated[int, Shown("How many runs that sum lacks, since their cost is not known.")]


@dataclass(frozen=True)
class Spent:
    """What runs took."""

    runs: Annotated[int, Shown("How many there were, reviews included.")] = 0
    seconds: Annotated[float, Shown("How long they took, one after the other.")] = 0.0
    input_tokens: Annotated[int, Shown("Tokens read.")] = 0
    output_tokens: Annotated[int, Shown("Tokens written.")] = 0
    cached_tokens: Annotated[int, Shown("Of those read, how many came from a cache.")] = 0
    cost_usd: Annotated[
        float | None, Shown("What they cost, as far as agents report it; null where none does.")
    ] = None
    # How many runs these sums lack, by agent.
    no_cost: Counter[str] = field(default_factory=Counter)
    no_tokens: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, agent: str, seconds: float = 0.0) -> Self:
        """Return the amounts of one run that has reported nothing yet."""
        return cls(1, seconds, no_cost=Counter([agent]), no_tokens=Counter([agent]))

    def updated(self, usage: Usage | None, cost_usd: float | None) -> "Spent":
        """Return a copy for one run with newer figures, each of which may be missing."""
        spent = self
        if usage is not None:
            spent = replace(
                spent,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cached_tokens=usage.cached_tokens,
                no_tokens=Counter(),
            )
        return spent if cost_usd is None else replace(spent, cost_usd=cost_usd, no_cost=Counter())

    @property
    def tokens(self) -> int:
        """Tokens read and written."""
        return self.input_tokens + self.output_tokens

    @property
    def unpriced(self) -> _Unpriced:
        return self.no_cost.total()

    def __add__(self, other: "Spent") -> "Spent":
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Spent(
            self.runs + other.runs,
            self.seconds + other.seconds,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            sum(costs) if costs else None,
            self.no_cost + other.no_cost,
            self.no_tokens + other.no_tokens,
        )


def total_of(parts: Iterable[Spent]) -> Spent:
    return reduce(add, parts, Spent())


def spent_in(run: Run, now: str) -> Spent:
    """Return what a run took, up to now if it is at work: then nothing counts as lacking yet."""
    is_at_work = run.status is RunStatus.RUNNING
    end = run.completed_at or (now if is_at_work else "")
    seconds = max(seconds_between(run.started_at, end) or 0.0, 0.0)
    spent = Spent.of(run.provider, seconds).updated(run.usage, run.cost_usd)
    has_worked = bool(run.provider) and run.terminal_reason not in _NOT_BEGUN
    return spent if has_worked and not is_at_work else replace(spent, no_cost=Counter(), no_tokens=Counter())


class BudgetScope(StrEnum):
    """What a budget is for: the runs that one call begins, those of one task, or all of the plan."""

    CALL = "call"
    TASK = "task"
    PLAN = "plan"


class BudgetUnit(StrEnum):
    """What a budget counts."""

    USD = "usd"
    TOKENS = "tokens"
    MINUTES = "minutes"


class BudgetLine(NamedTuple):
    """One limit of a budget, and what of it is spent.

    ``lacking`` counts the runs that the sum lacks, by agent, since they report nothing of the kind.
    ``task_id`` is set for the budget of a task.
    """

    scope: BudgetScope
    unit: BudgetUnit
    limit: float
    spent: float
    lacking: Mapping[str, int]
    task_id: TaskId | None = None

    @property
    def key(self) -> str:
        return f"budget.{self.scope}.{self.unit}"

    @property
    def is_spent(self) -> bool:
        """Whether nothing may start any more, and what runs is to be paused."""
        return self.spent > self.limit - 1e-9

    @property
    def enough(self) -> float:
        """A limit that leaves more than was spent: that is what the largest run took, at least."""
        amount = 2 * max(self.spent, self.limit)
        step = max(10.0 ** (floor(log10(amount)) - 1), 0.01 if self.unit is BudgetUnit.USD else 1.0)
        return (floor(amount / step) + 1) * step

    def limited_by(self, budget: BudgetConfig) -> "BudgetLine":
        limit: float | None = getattr(getattr(budget, self.scope), self.unit)
        return self._replace(limit=inf if limit is None else limit)


def budget_lines(
    scope: BudgetScope, amounts: Amounts, find_spent: Callable[[], Spent], task_id: TaskId | None = None
) -> Iterator[BudgetLine]:
    """Yield the limits that are set of a budget with what was spent of each, which is found out for them."""
    if not any(amounts):
        return
    limits = {unit: limit for unit in BudgetUnit if (limit := getattr(amounts, unit)) is not None}
    spent = find_spent()
    sums: Mapping[BudgetUnit, tuple[float, Mapping[str, int]]] = {
        BudgetUnit.USD: (spent.cost_usd or 0.0, spent.no_cost),
        BudgetUnit.TOKENS: (spent.tokens, spent.no_tokens),
        BudgetUnit.MINUTES: (spent.seconds / 60, {}),
    }
    for unit, limit in limits.items():
        yield BudgetLine(scope, unit, limit, *sums[unit], task_id)
