"""The ledger of a call: what its runs spend while they work, and the budgets that this uses up."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from git_blackbird.controller.core.guards import spent_before
from git_blackbird.controller.core.workspace import Workspace
from git_blackbird.errors import RequestError
from git_blackbird.messages.display.quantities import spent_text
from git_blackbird.model.base.ids import RunId, TaskId
from git_blackbird.model.base.timestamps import SECOND
from git_blackbird.model.rules.spending import (
    BudgetLine,
    BudgetScope,
    BudgetUnit,
    Spent,
    budget_lines,
    total_of,
)
from git_blackbird.model.run.parts import Usage
from git_blackbird.model.run.run import Run


class BudgetSpentError(RequestError):
    def __init__(self, budgets: tuple[BudgetLine, ...]) -> None:
        super().__init__(spent_text(budgets))
        self.budgets = budgets


@dataclass
class RunMeter:
    """What one run reports so far; ``began`` is in nanoseconds since 1970."""

    task_id: TaskId
    began: int
    reported: Spent

    def update(self, usage: Usage | None, cost_usd: float | None) -> None:
        """Take newer figures, each of which may be missing."""
        self.reported = self.reported.updated(usage, cost_usd)

    def spent(self, now: int) -> Spent:
        return replace(self.reported, seconds=(now - self.began) / SECOND)


class Ledger:
    """Adds up what the runs of one call spend, and what was spent before on their tasks and the plan.

    Earlier runs are read from their records once, and only where a budget counts them.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._at_work: dict[RunId, RunMeter] = {}
        # By task, and under None of all.
        self._ended: dict[TaskId | None, Spent] = defaultdict(Spent)
        self._known: set[RunId] = set()
        self._before: dict[TaskId | None, Spent] = {}

    @contextmanager
    def run(self, run: Run) -> Iterator[RunMeter]:
        """Count a run as at work within the block, and then as ended."""
        began, reported = self._workspace.environment.now(), Spent.of(run.provider)
        meter = self._at_work[run.id] = RunMeter(run.task_id, began, reported)
        self._known.add(run.id)
        try:
            yield meter
        finally:
            del self._at_work[run.id]
            spent = meter.spent(self._workspace.environment.now())
            for key in (run.task_id, None):
                self._ended[key] += spent

    def spent_lines(self, task_id: TaskId) -> tuple[BudgetLine, ...]:
        """Return the limits that a run of the task would go beyond; none where it may work."""
        return tuple(line for line in self._lines(task_id) if line.is_spent)

    def require(self, task_id: TaskId) -> None:
        """Raise BudgetSpentError if the budget of a task is spent."""
        if lines := self.spent_lines(task_id):
            raise BudgetSpentError(lines)

    def usd_left(self, task_id: TaskId) -> float | None:
        """Return how many dollars a run of the task may cost; None without a limit."""
        left = (line.limit - line.spent for line in self._lines(task_id) if line.unit is BudgetUnit.USD)
        return min(left, default=None)

    def _lines(self, task_id: TaskId) -> Iterator[BudgetLine]:
        for scope in BudgetScope:
            about = task_id if scope is BudgetScope.TASK else None
            amounts = getattr(self._workspace.config.budget, scope)
            yield from budget_lines(scope, amounts, partial(self._spent, scope, about), about)

    def _spent(self, scope: BudgetScope, task_id: TaskId | None) -> Spent:
        now = self._workspace.environment.now()
        at_work = (meter for meter in self._at_work.values() if task_id in {None, meter.task_id})
        parts = [self._ended[task_id], *(meter.spent(now) for meter in at_work)]
        return total_of(parts if scope is BudgetScope.CALL else [*parts, self._earlier(task_id)])

    def _earlier(self, task_id: TaskId | None) -> Spent:
        if task_id not in self._before:
            self._before[task_id] = spent_before(self._workspace, task_id, self._known)
        return self._before[task_id]
