"""Budgets, and what of them is spent."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import NamedTuple

from git_blackbird.model.base.ids import TaskId
from git_blackbird.model.config.config import Amounts, BudgetConfig
from git_blackbird.model.run.spent import Spent


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
        """The key of the configuration that sets the limit."""
        return f"budget.{self.scope}.{self.unit}"

    @property
    def is_spent(self) -> bool:
        """Whether nothing may start any more, and what runs is to be paused."""
        return self.spent > self.limit - 1e-9

    def limited_by(self, budget: BudgetConfig) -> "BudgetLine":
        """Return it with the limit of another configuration."""
        limit: float | None = getattr(getattr(budget, self.scope), self.unit)
        return self._replace(limit=inf if limit is None else limit)


def budget_lines(
    scope: BudgetScope, amounts: Amounts, find_spent: Callable[[], Spent], task_id: TaskId | None = None
) -> Iterator[BudgetLine]:
    """Yield the limits that are set of a budget with what was spent of each, which is found out for them."""
    limits = {unit: limit for unit in BudgetUnit if (limit := getattr(amounts, unit)) is not None}
    if not limits:
        return
    spent = find_spent()
    sums: Mapping[BudgetUnit, tuple[float, Mapping[str, int]]] = {
        BudgetUnit.USD: (spent.cost_usd or 0.0, spent.no_cost),
        BudgetUnit.TOKENS: (spent.tokens, spent.no_tokens),
        BudgetUnit.MINUTES: (spent.seconds / 60, {}),
    }
    for unit, limit in limits.items():
        yield BudgetLine(scope, unit, limit, *sums[unit], task_id)
